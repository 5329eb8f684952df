"""Service of a robot on the bench: calibrate, check, monitor."""
