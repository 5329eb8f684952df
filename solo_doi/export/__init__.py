"""From a run or a checkpoint to a bundle."""
