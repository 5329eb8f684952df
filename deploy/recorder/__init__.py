"""The recorder: the last 30 s of messages in memory, written to disk by its own process."""
