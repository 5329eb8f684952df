"""Robots of Gymnasium's MuJoCo environments, many at once."""
