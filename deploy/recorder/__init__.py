"""The recorder process: the last half minute in memory, written to disk."""
