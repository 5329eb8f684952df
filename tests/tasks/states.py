"""Robot states built by hand, for functions of states without a simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solo_doi.solo12.constants import BODY_NAMES, CONTROL_SETUPS, LEG_NAMES
from solo_doi.solo12.state import RobotState, feet_in_world, standing
from solo_doi.tasks.task import Moment, PreviousStep

SETUP = CONTROL_SETUPS["locomotion"]


def standing_state(num_robots: int = 1, **changes: np.ndarray) -> RobotState:
    """Return standing robots without torques and contacts; keywords replace single fields."""
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
    """Return one robot with the named feet on the ground."""
    force = np.zeros((1, 4, 3))
    force[0, [LEG_NAMES.index(leg) for leg in legs], 2] = 10.0
    return standing_state(foot_force_w=force)


def touching(body: str) -> RobotState:
    """Return one robot with a contact of a body that is not a foot."""
    force = np.zeros((1, 13, 3))
    force[0, BODY_NAMES.index(body), 2] = 10.0
    return standing_state(body_force_w=force)


def with_feet_at(height: float) -> RobotState:
    """Return one robot with all foot centres at this height."""
    position_w = standing_state().foot_position_w
    position_w[..., 2] = height
    return standing_state(foot_position_w=position_w)


def previous(state: RobotState, target: np.ndarray | None = None) -> PreviousStep:
    """Return a previous step like this state."""
    if target is None:
        target = np.zeros((len(state.torque), 12))
    return PreviousStep(target, state.foot_position_w, state.foot_contact, state.base_position_w)


def moment(
    state: RobotState,
    command: np.ndarray | None = None,
    before: PreviousStep | None = None,
    **parts: np.ndarray,
) -> Moment:
    """Return the moment of a state; by default at rest, with zero command, at the start."""
    count = len(state.torque)
    before = before or previous(state)
    return Moment(
        **{  # type: ignore[arg-type]  # names of parts
            "state": state,
            "target": before.target,
            "before": before,
            "command": np.zeros((count, 3)) if command is None else command,
            "time_left": np.ones(count),
            "scan_height": None,
            **parts,
        }
    )
