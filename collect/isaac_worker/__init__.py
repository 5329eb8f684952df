"""Folder of `solo_isaac`, a program for Isaac Gym's own Python that is never imported here."""
