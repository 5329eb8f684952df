"""The robot process: the only one that moves motors."""
