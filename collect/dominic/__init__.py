"""DOMiNiC: trains the checkpoints that everything starts from."""
