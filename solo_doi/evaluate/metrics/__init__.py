"""Measures that are computed from recorded rollouts."""
