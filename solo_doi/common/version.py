"""Version of this project."""

__version__ = "0.2.0"
