"""The robot process: the only process that moves motors."""
