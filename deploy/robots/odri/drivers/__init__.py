"""Drivers of the master board, in joint coordinates."""
