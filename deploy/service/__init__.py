"""The robot on the bench: calibrate, check, monitor."""
