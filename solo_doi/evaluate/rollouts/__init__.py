"""Recorded rollouts of policies."""
