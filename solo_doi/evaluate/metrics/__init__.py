"""Numbers computed from recorded rollouts."""
