"""Solo12 behind an ODRI master board: wire protocol, drivers, bring-up, bench tools."""
