"""Worker that steps robots in Isaac Gym, in Python 3.8 with isaacgym, torch and numpy only."""
