"""Division of physics steps in engines that apply joint torques explicitly: Bullet and PhysX."""

from __future__ import annotations

import math

MAX_SOLVER_STEP = 0.00125
"""Longest step of the engine [s]. A longer physics step is divided.

The joint controllers run in each part. MuJoCo's integrator treats the velocity gain implicitly and
needs no division. With explicit torques at 5 ms, a leg in the air is unstable (kd dt / I is 1.6 at
the knee): it rattles at 26 rad/s in Bullet. At 2.5 ms it is stable with the gains of training, but
not with straight legs and 1.5 times the velocity gain. At 1.25 ms it is stable beyond twice the
gain.
"""


def solver_steps(physics_dt: float) -> int:
    """Return the number of engine steps in a physics step."""
    return math.ceil(round(physics_dt / MAX_SOLVER_STEP, 6))
