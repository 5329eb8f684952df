"""DOMiNiC, the trainer of checkpoints."""
