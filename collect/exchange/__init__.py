"""Data of and for other programs: exports, and datasets of robot logs."""
