"""Steps robots in Isaac Gym for another process. Python 3.8; needs isaacgym, torch and numpy, and nothing else."""
