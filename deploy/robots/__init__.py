"""The robot process and its robots: simulated, virtual, real."""
