"""Virtual master board with a simulated Solo12: both protocols, its states, watchdogs, faults."""
