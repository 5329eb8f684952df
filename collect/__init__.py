"""Application 1: checkpoints and datasets from simulated robots."""
