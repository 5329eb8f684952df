"""MuJoCo Warp backend: the MuJoCo backend's model on a GPU."""
