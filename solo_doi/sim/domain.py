"""Physical parameters that differ from robot to robot, recorded with every trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import MOTOR_LAG, Array

NOMINAL: dict[str, float] = {
    "friction": 1.0,
    "added_mass": 0.0,
    "motor_lag": MOTOR_LAG,
    "armature": 0.0,
    "kp_scale": 1.0,
    "kd_scale": 1.0,
}
"""Values without randomisation, by field of `Domain`."""
PLAUSIBLE: dict[str, tuple[float, float]] = {
    "friction": (0.01, 5.0),
    "added_mass": (-1.0, 5.0),
    "motor_lag": (0.0, 0.1),
    "armature": (0.0, 0.01),
    "kp_scale": (0.0, 10.0),
    "kd_scale": (0.0, 10.0),
}
"""Accepted range of each field; a value outside is an error."""


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Physical parameters of N robots, each (N,)."""

    friction: Array
    """Coulomb friction coefficient of a contact, for robot and ground together."""
    added_mass: Array
    """Mass added to the base; its inertia grows in proportion [kg]."""
    motor_lag: Array
    """Delay from a joint target to its motor, rounded to physics steps [s]."""
    armature: Array
    """Rotor inertia at the joint [kg m^2]."""
    kp_scale: Array
    """Factor on the position gain."""
    kd_scale: Array
    """Factor on the velocity gain."""

    def __post_init__(self) -> None:
        """Refuse implausible values, naming robot and field."""
        sizes = {name: np.shape(getattr(self, name)) for name in NOMINAL}
        if len(set(sizes.values())) != 1 or len(next(iter(sizes.values()))) != 1:
            raise SoloError(f"Domain fields must all have shape (robots,), found {sizes}.")
        for name, (low, high) in PLAUSIBLE.items():
            values = getattr(self, name)
            wrong = np.flatnonzero(~((values >= low) & (values <= high)))
            if wrong.size:
                raise SoloError(
                    f"Domain field {name!r} of robot {wrong[0]} is {values[wrong[0]]}, "
                    f"expected {low} to {high}."
                )

    def __len__(self) -> int:
        """Return the number of robots."""
        return len(self.friction)

    def __getitem__(self, index: object) -> Self:
        """Select robots by index array, slice or mask."""
        return type(self)(
            **{field.name: getattr(self, field.name)[index] for field in fields(self)}
        )

    @classmethod
    def nominal(cls, num_robots: int, **values: float | Array) -> Self:
        """Return a domain without randomisation; keywords replace single fields."""
        unknown = set(values) - set(NOMINAL)
        if unknown:
            raise SoloError(
                f"Unknown domain fields {sorted(unknown)}. Known: {', '.join(NOMINAL)}."
            )
        merged: Mapping[str, float | Array] = {**NOMINAL, **values}
        for name, value in merged.items():
            if np.shape(value) not in ((), (num_robots,)):
                raise SoloError(
                    f"Domain field {name!r} has shape {np.shape(value)}, expected ({num_robots},)."
                )
        return cls(
            **{
                name: np.array(np.broadcast_to(value, num_robots), dtype=np.float64)
                for name, value in merged.items()
            }
        )

    def replaced(self, index: Array | slice, other: Domain) -> Self:
        """Return a copy in which the robots at `index` have the parameters of `other`."""
        arrays = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, array in arrays.items():
            array[index] = getattr(other, name)
        return type(self)(**arrays)
