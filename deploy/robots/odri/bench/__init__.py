"""Calibration and inspection of a robot on the bench."""
