"""Rollouts of policies, recorded."""
