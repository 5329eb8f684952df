"""Export of runs and checkpoints as bundles."""
