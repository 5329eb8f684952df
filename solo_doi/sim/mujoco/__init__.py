"""MuJoCo backend."""
