"""Observations of policies: the only place that defines the layout of an observation.

A layout is an ordered list of named terms. The same code builds the observations of N simulated
robots and of the one real robot; noise is added by training only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solo_doi.common.errors import SoloError

from .constants import CONTROL_SETUPS, JOINT_NAMES, NUM_JOINTS, Array, ControlSetup
from .rotations import projected_gravity, to_rpy
from .state import Motion

CLIP = 100.0
"""Largest absolute value of an observation after noise [DOMiNiC]."""
NOMINAL_HEIGHT = 0.25
"""Base height that the height scan is relative to [m]."""
SCAN_SIDE = 11
"""Points per side of the height scan."""
SCAN_STEP = 0.1
"""Distance between points of the height scan [m]."""
SCAN_RANGE = 1.0
"""Largest absolute value of the height scan [m]."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Inputs of all observation terms; a term without its input is an error."""

    motion: Motion
    previous_action: Array  # (..., 12) raw policy output of the step before
    command: Array | None = None  # (..., 3) vx, vy [m/s], yaw rate [rad/s]
    scan_height: Array | None = None  # (..., 121) ground height at `scan_points` [m]
    target: Array | None = None  # (..., 4) position in the heading frame [m], yaw error [rad]
    time_left: Array | None = None  # (..., 1) fraction of the episode that is left


@dataclass(frozen=True)
class Term:
    """One named part of an observation."""

    name: str
    size: int
    noise: float
    """Uniform noise amplitude in training, in the unit of the term."""
    unit: str
    frame: str
    value: Callable[[Inputs, ControlSetup], Array | None]


@dataclass(frozen=True)
class Layout:
    """An ordered list of terms."""

    task: str
    terms: tuple[Term, ...]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Slice of each term in the observation, by name."""
        slices = {}
        start = 0
        for term in self.terms:
            slices[term.name] = slice(start, start + term.size)
            start += term.size
        return slices

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each number, such as `joint_velocity.FL_KFE`."""
        parts = {NUM_JOINTS: JOINT_NAMES, 3: ("x", "y", "z")}
        names: list[str] = []
        for term in self.terms:
            ends = parts.get(term.size, range(term.size))
            names += [f"{term.name}.{end}" for end in ends]
        return tuple(names)

    @cached_property
    def size(self) -> int:
        """Number of values in an observation."""
        return sum(term.size for term in self.terms)

    @cached_property
    def noise(self) -> NDArray[np.float32]:
        """Noise amplitude of each value."""
        return np.concatenate(
            [np.full(term.size, term.noise, dtype=np.float32) for term in self.terms]
        )

    def build(self, inputs: Inputs, rng: np.random.Generator | None = None) -> NDArray[np.float32]:
        """Return observations (..., size); with `rng`, uniform noise is added as in training."""
        setup = CONTROL_SETUPS[self.task]
        leading = inputs.motion.joint_position.shape[:-1]
        values = []
        for term in self.terms:
            value = term.value(inputs, setup)
            if value is None or value.shape != (*leading, term.size):
                found = "nothing"
                if value is not None:
                    found = f"shape {value.shape}"
                raise SoloError(
                    f"Observation term {term.name!r} of task {self.task!r} got {found}, "
                    f"expected shape {(*leading, term.size)}: pass it in `Inputs`."
                )
            values.append(value)
        observation = np.concatenate(values, axis=-1, dtype=np.float32)
        if rng is not None:
            observation += self.draw_noise(leading, rng)
        # The method, not `np.clip`, which takes twice as long.
        return observation.clip(-CLIP, CLIP, out=observation)

    def draw_noise(self, leading: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw the uniform noise of observations, (*leading, size)."""
        noise = rng.random((*leading, self.size), dtype=np.float32)
        # In place: these arrays are large when thousands of robots are trained.
        noise -= 0.5
        noise *= 2 * self.noise
        return noise


def scan_points(base_position_w: Array, base_quaternion: Array) -> Array:
    """World positions (..., 121, 2) of the height scan: a grid around the base, turned by its yaw.

    Points run from -0.5 to 0.5 m, x is the slow index: point k lies at ix = k // 11, iy = k % 11.
    """
    grid = (np.arange(SCAN_SIDE) - SCAN_SIDE // 2) * SCAN_STEP
    x = np.repeat(grid, SCAN_SIDE)
    y = np.tile(grid, SCAN_SIDE)
    _, _, yaw = to_rpy(base_quaternion)
    cos = np.cos(yaw)[..., None]
    sin = np.sin(yaw)[..., None]
    offset_w = np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)
    return base_position_w[..., None, :2] + offset_w


def _scan(inputs: Inputs, setup: ControlSetup) -> Array | None:
    if inputs.scan_height is None:
        return None
    clearance = inputs.motion.base_position_w[..., 2:] - NOMINAL_HEIGHT - inputs.scan_height
    return np.clip(clearance, -SCAN_RANGE, SCAN_RANGE)


def _joint_offset(inputs: Inputs, setup: ControlSetup) -> Array:
    return inputs.motion.joint_position - setup.default_pose


def _joint_velocity(inputs: Inputs, setup: ControlSetup) -> Array:
    return inputs.motion.joint_velocity


def _proprioception(joint_velocity_noise: float) -> tuple[Term, ...]:
    return (
        Term("linear_velocity", 3, 0.2, "m/s", "base", lambda i, s: i.motion.linear_velocity_b),
        Term("angular_velocity", 3, 0.2, "rad/s", "base", lambda i, s: i.motion.angular_velocity_b),
        Term("joint_position", NUM_JOINTS, 0.05, "rad", "relative to default pose", _joint_offset),
        Term("joint_velocity", NUM_JOINTS, joint_velocity_noise, "rad/s", "joint", _joint_velocity),
        Term(
            "gravity", 3, 0.1, "1", "base", lambda i, s: projected_gravity(i.motion.base_quaternion)
        ),
    )


PREVIOUS_ACTION = Term(
    "previous_action", NUM_JOINTS, 0.0, "policy output", "joint", lambda i, s: i.previous_action
)

LAYOUTS = {
    "locomotion": Layout(
        "locomotion",
        (
            *_proprioception(joint_velocity_noise=1.0),
            PREVIOUS_ACTION,
            Term("command", 3, 0.0, "m/s, m/s, rad/s", "base", lambda i, s: i.command),
        ),
    ),
    "navigation": Layout(
        "navigation",
        (
            *_proprioception(joint_velocity_noise=0.5),
            Term("height_scan", SCAN_SIDE**2, 0.02, "m", "base above ground, heading", _scan),
            PREVIOUS_ACTION,
            Term("target", 4, 0.05, "m, m, m, rad", "heading", lambda i, s: i.target),
            Term("time_left", 1, 0.0, "1", "episode", lambda i, s: i.time_left),
        ),
    ),
}
"""Observations of the two tasks: 48 and 171 numbers [DOMiNiC]."""


def layout_of_size(size: int) -> Layout | None:
    """Return the layout with this many numbers; None if no task has one."""
    for layout in LAYOUTS.values():
        if layout.size == size:
            return layout
    return None
