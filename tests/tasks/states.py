"""Robot states built by hand, for what looks at states without a simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solo_doi.solo12.constants import BODY_NAMES, CONTROL_SETUPS, LEG_NAMES
from solo_doi.solo12.state import RobotState, feet_in_world, standing

SETUP = CONTROL_SETUPS["locomotion"]


def standing_state(num_robots: int = 1, **changes: np.ndarray) -> RobotState:
    """Robots that stand without effort and touch nothing; keywords replace single fields."""
    motion = standing(SETUP, num_robots)
    position_w, velocity_w = feet_in_world(motion)
    state = RobotState(
        **vars(motion),
        torque=np.zeros((num_robots, 12)),
        foot_position_w=position_w,
        foot_velocity_w=velocity_w,
        foot_force_w=np.zeros((num_robots, 4, 3)),
        body_force_w=np.zeros((num_robots, 13, 3)),
    )
    return replace(state, **changes)


def on_feet(*legs: str) -> RobotState:
    """One robot with the named feet on the ground."""
    force = np.zeros((1, 4, 3))
    force[0, [LEG_NAMES.index(leg) for leg in legs], 2] = 10.0
    return standing_state(foot_force_w=force)


def touching(body: str) -> RobotState:
    """One robot that touches the ground with something that is not a foot."""
    force = np.zeros((1, 13, 3))
    force[0, BODY_NAMES.index(body), 2] = 10.0
    return standing_state(body_force_w=force)


def with_feet_at(height: float) -> RobotState:
    """One robot with all foot centres at this height."""
    position_w = standing_state().foot_position_w
    position_w[..., 2] = height
    return standing_state(foot_position_w=position_w)
