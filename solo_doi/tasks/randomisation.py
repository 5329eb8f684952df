"""Presets of domain randomisation, with draws for every episode.

`paper` has the ranges of the paper; `robust` adds differences of real robots; `hard` exceeds
`robust` and makes policies that fall less.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solo_doi.common.errors import UnknownNameError
from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.solo12.constants import CONTROL_DT, Array
from solo_doi.solo12.observation import Layout

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Randomisation:
    """Ranges of uniform draws."""

    domain: dict[str, Range] = field(default_factory=dict)
    """Ranges of physical parameters, by field of `Domain`; other fields stay nominal."""
    sensor_bias: dict[str, float] = field(default_factory=dict)
    """Largest constant error of an observation term over an episode, in the term's unit."""
    observation_noise: bool = True
    """Add the layout's uniform noise to every observation."""
    push_interval: float = float("inf")
    """Mean time between pushes of a robot [s]."""
    push_velocity: float = 0.5
    """Largest change per component of the base velocities by a push [m/s, rad/s]."""

    def draw_domain(
        self, num_robots: int, rng: np.random.Generator, fixed: frozenset[str] = frozenset()
    ) -> Domain:
        """Draw the physics of some robots; fields that the engine lacks, `fixed`, stay nominal."""
        drawn: dict[str, Array | float] = {}
        for name, nominal in NOMINAL.items():
            low, high = self.domain.get(name, (nominal, nominal))
            # Drawn even if not used, so that the other fields do not depend on the engine.
            values = rng.uniform(low, high, num_robots)
            if name not in fixed:
                drawn[name] = values
        return Domain.nominal(num_robots, **drawn)

    def draw_bias(self, num_robots: int, layout: Layout, rng: np.random.Generator) -> np.ndarray:
        """Draw the constant observation error of some robots, (robots, observation)."""
        largest = np.zeros(layout.size, dtype=np.float32)
        for term, value in self.sensor_bias.items():
            largest[layout.slices[term]] = value
        return rng.uniform(-largest, largest, (num_robots, layout.size)).astype(np.float32)

    def draw_pushed(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw whether a robot is pushed in a control step, one draw per element."""
        return rng.random(shape) < CONTROL_DT / self.push_interval

    def draw_push_velocity(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Draw the changes of base velocity that pushes make [m/s, rad/s]."""
        return rng.uniform(-self.push_velocity, self.push_velocity, shape)


PAPER_DOMAIN: dict[str, Range] = {"friction": (0.5, 1.5), "added_mass": (-0.5, 0.5)}
"""Ranges of the paper."""

ROBUST_DOMAIN: dict[str, Range] = {
    **PAPER_DOMAIN,
    "motor_lag": (0.010, 0.025),
    # Not known for Solo12: from zero to twice the shank's inertia.
    "armature": (0.0, 1e-3),
    "kp_scale": (0.9, 1.1),
    "kd_scale": (0.9, 1.1),
}
"""Ranges with differences of real robots."""
ROBUST_BIAS = {
    # Estimated velocities are biased, encoder calibration is accurate to a degree, and an IMU is
    # never mounted level.
    "linear_velocity": 0.1,
    "angular_velocity": 0.05,
    "joint_position": 0.02,
    "gravity": 0.03,
}
"""Largest constant errors of observation terms, in the term's unit."""

PRESETS = {
    "none": Randomisation(observation_noise=False),
    "paper": Randomisation(domain=PAPER_DOMAIN, push_interval=15.0),
    "robust": Randomisation(domain=ROBUST_DOMAIN, sensor_bias=ROBUST_BIAS, push_interval=4.0),
    # Beyond what policies are tested with, so that they have a margin: for pre-training alone.
    "hard": Randomisation(
        domain={**ROBUST_DOMAIN, "friction": (0.35, 1.5)},
        sensor_bias=ROBUST_BIAS,
        push_interval=3.0,
        push_velocity=0.75,
    ),
}


def randomisation(name: str) -> Randomisation:
    """Return a preset by name."""
    if name not in PRESETS:
        raise UnknownNameError("randomisation", name, PRESETS)
    return PRESETS[name]
