"""Folder of `solo_isaac`, the program that runs in Isaac Gym's own Python; nothing here is imported by this one."""
