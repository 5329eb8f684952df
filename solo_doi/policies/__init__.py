"""Policies as files: DOMiNiC checkpoints, skill policies and bundles."""
