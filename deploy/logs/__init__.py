"""Logs after a run: replay, pictures, MCAP."""
