"""Estimates of a base in motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from solo_doi.solo12.estimator import Estimate, Estimator


def estimate(forward: float, sideways: float = 0.0, turning: float = 0.0) -> Estimate:
    """Return the estimate of a level base in motion [m/s, m/s, rad/s]."""
    velocity = np.array([forward, sideways, 0.3])  # vertical velocity must have no effect
    return Estimate(np.array([0.0, 0.0, -1.0]), velocity, np.array([0.2, 0.1, turning]), np.ones(4))


class MovingEstimator(Estimator):
    """Estimator whose base velocity a test sets in `motion`."""

    motion = estimate(0.0)

    def update(self, *measured: Any, **further: Any) -> Estimate:
        """Estimate only the tilt; velocities are those of `motion`."""
        tilt = super().update(*measured, **further).gravity_b
        return Estimate(
            tilt, self.motion.velocity_b, self.motion.angular_velocity_b, self.motion.foot_weight
        )
