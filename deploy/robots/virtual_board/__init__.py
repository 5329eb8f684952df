"""A master board without metal: both wire protocols, states, watchdogs and faults, before a simulated Solo12."""
