"""Robots without hardware: PyBullet and a mock."""
