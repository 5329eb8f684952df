"""Policies as files: DOMiNiC checkpoints, ours and the official ones."""
