"""Virtual master board with a simulated Solo12: both protocols, states, watchdogs, faults."""
