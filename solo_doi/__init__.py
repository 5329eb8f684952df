"""solo-doi: from simulator checkpoints to diverse skills that walk on a real Solo12."""

__version__ = "0.1.0"
