"""Domain randomisation as presets: what is drawn anew for every episode.

`paper` is what the paper states; `robust` adds what a real robot differs in.
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
    """Physical parameters, by field of `Domain`; what is not named stays nominal."""
    sensor_bias: dict[str, float] = field(default_factory=dict)
    """Constant error of an observation term over an episode: largest value, in the term's unit."""
    observation_noise: bool = True
    """Whether the layout's uniform noise is added to every observation."""
    push_interval: float = float("inf")
    """Mean time between pushes of a robot [s]."""
    push_velocity: float = 0.5
    """Largest change per component that a push makes to the base's velocities [m/s, rad/s]."""

    def draw_domain(
        self, num_robots: int, rng: np.random.Generator, fixed: frozenset[str] = frozenset()
    ) -> Domain:
        """Draw the physics of some robots; fields in `fixed` stay nominal, for engines that cannot vary them."""
        drawn: dict[str, Array | float] = {
            name: rng.uniform(*self.domain.get(name, (nominal, nominal)), num_robots)
            for name, nominal in NOMINAL.items()
        }
        return Domain.nominal(
            num_robots, **{name: drawn[name] for name in drawn if name not in fixed}
        )

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

PRESETS = {
    "none": Randomisation(observation_noise=False),
    "paper": Randomisation(domain=PAPER_DOMAIN, push_interval=15.0),
    "robust": Randomisation(
        domain={
            **PAPER_DOMAIN,
            "motor_lag": (0.010, 0.025),
            "armature": (
                0.0,
                1e-3,
            ),  # not known for Solo12: from nothing to twice the shank's inertia
            "kp_scale": (0.9, 1.1),
            "kd_scale": (0.9, 1.1),
        },
        # An estimated base velocity is biased, encoders are calibrated to a degree, an IMU is never mounted level.
        sensor_bias={
            "linear_velocity": 0.1,
            "angular_velocity": 0.05,
            "joint_position": 0.02,
            "gravity": 0.03,
        },
        push_interval=4.0,
    ),
}


def randomisation(name: str) -> Randomisation:
    """Return a preset by name."""
    if name not in PRESETS:
        raise UnknownNameError("randomisation", name, PRESETS)
    return PRESETS[name]
