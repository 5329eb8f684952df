"""Recordings made up by hand."""

from __future__ import annotations

import numpy as np

from solo_doi.data.transitions import Transitions
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT, CONTROL_SETUPS, FOOT_RADIUS
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.solo12.state import standing

TERMS = LAYOUTS["locomotion"].slices
GAITS = {  # when each foot (FL, FR, HL, HR) is highest, in cycles
    "trot": (0.0, 0.5, 0.5, 0.0),
    "pace": (0.0, 0.5, 0.0, 0.5),
    "bound": (0.0, 0.0, 0.5, 0.5),
    "pronk": (0.0, 0.0, 0.0, 0.0),
    "walk": (0.0, 0.5, 0.25, 0.75),
}


def feet(
    phases: tuple[float, ...],
    frequency: float = 3.0,
    steps: int = 200,
    lift: float = 0.06,
    duty: float = 0.6,
) -> tuple[np.ndarray, np.ndarray]:
    """Return foot heights and contacts (T, 1, 4): stance for a share `duty`, then half a sine."""
    time = np.arange(steps)[:, None] * CONTROL_DT
    cycle = (time * frequency - np.array(phases) + 0.5) % 1.0 - 0.5  # 0 when the foot is highest
    swing = np.abs(cycle) < (1 - duty) / 2
    height = FOOT_RADIUS + np.where(swing, lift * np.cos(np.pi * cycle / (1 - duty)), 0.0)
    return height[:, None], ~swing[:, None]


def walking(gait: str, steps: int = 100, num_robots: int = 1) -> Recording:
    """Return robots that glide at a height of 0.25 m, with feet that walk."""
    motion = standing(CONTROL_SETUPS["locomotion"], num_robots)
    height, contact = feet(GAITS[gait], steps=steps)
    position_w = np.tile(motion.base_position_w, (steps, 1, 1))
    position_w[..., 0] = np.arange(steps)[:, None] * CONTROL_DT
    foot_position_w = np.zeros((steps, num_robots, 4, 3))
    foot_position_w[..., 2] = height
    return Recording(
        position_w=position_w,
        quaternion=np.tile(motion.base_quaternion, (steps, 1, 1)),
        linear_velocity_b=np.tile([1.0, 0, 0], (steps, num_robots, 1)),
        angular_velocity_b=np.zeros((steps, num_robots, 3)),
        joint_position=np.tile(motion.joint_position, (steps, 1, 1)),
        joint_velocity=np.zeros((steps, num_robots, 12)),
        torque=np.zeros((steps, num_robots, 12)),
        foot_position_w=foot_position_w,
        foot_contact=np.tile(contact, (1, num_robots, 1)),
        reward=np.ones((steps, num_robots, 2)),
        fallen=np.zeros((steps, num_robots), dtype=bool),
        observation=np.zeros((steps, num_robots, 48), dtype=np.float32),
    )


def as_data(recording: Recording) -> Transitions:
    """Return the recording's observations as a dataset."""
    steps, robots, size = recording.observation.shape
    rows = recording.observation.swapaxes(0, 1).reshape(-1, size)
    return Transitions(
        observations=rows,
        next_observations=rows,
        actions=None,
        rewards=np.zeros(len(rows)),
        terminals=np.zeros(len(rows), dtype=bool),
        timeouts=np.zeros(len(rows), dtype=bool),
        starts=np.arange(robots) * steps,
        terms=TERMS,
    )
