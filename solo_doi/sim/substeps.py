"""How fine the steps must be where joint torques act explicitly: in Bullet and in PhysX, not in MuJoCo."""

from __future__ import annotations

import math

LONGEST_STEP = 0.00125
"""Longest step of the engine [s]; a longer physics step is divided, the joint controller running at every part.

MuJoCo's integrator treats the velocity gain implicitly. With explicit torques at 5 ms a leg in the air is unstable
(kd dt / I is 1.6 at the knee) and rattles at 26 rad/s in Bullet; at 2.5 ms it is quiet with the gains of training,
but not with 1.5 times their velocity gain and straight legs; at 1.25 ms beyond twice.
"""


def parts_of_step(physics_dt: float) -> int:
    """Into how many steps of the engine a physics step is divided."""
    return math.ceil(round(physics_dt / LONGEST_STEP, 6))
