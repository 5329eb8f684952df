"""Rollouts, what they show in numbers, and pictures of them."""
