"""Numerical tools of training: networks, k-means, a second core, devices."""
