"""Datasets on disk: a directory with a manifest and D4RL-shaped HDF5 shards, memory-mapped."""
