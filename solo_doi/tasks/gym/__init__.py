"""Gymnasium's MuJoCo environments, version 5, as tasks."""
