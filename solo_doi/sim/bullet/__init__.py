"""PyBullet backend."""
