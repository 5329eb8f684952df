"""Comparison of a replay with its log: first difference and largest differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from deploy.messages.generated import joint_command, policy_input
from solo_doi.solo12.constants import JOINT_NAMES, Array
from solo_doi.solo12.observation import Layout

SCALAR_TERMS = ("mode", "skill", "kp", "kd")
"""Fields of a command that have one value, not one per joint."""
TARGET_NAMES = tuple(f"target of {name}" for name in JOINT_NAMES)


@dataclass(frozen=True)
class Difference:
    """First number in which a replay differs from its log."""

    tick: int
    term: str
    logged: float
    replayed: float

    def __str__(self) -> str:
        """Return the difference as a sentence."""
        return f"tick {self.tick}: {self.term} was {self.logged:.6g}, is now {self.replayed:.6g}"


@dataclass
class ReplayComparison:
    """Result of a replay."""

    ticks: int = 0
    """Number of compared commands."""
    observations: int = 0
    """Number of compared observations; logs of older versions have none."""
    difference: Difference | None = None
    """First difference; the observation of a tick is compared before its command."""
    largest: float = 0.0
    """Largest difference of any joint target [rad]."""
    terms: dict[str, float] = field(default_factory=dict)
    """Largest difference of each term of the observation, in its unit."""

    def __str__(self) -> str:
        """Return the result as one or two lines."""
        counts = f"{self.ticks} ticks, {self.observations} observations"
        if self.difference is None:
            return f"{counts}, all the same"
        largest = f"At most: joint targets {self.largest:.3g} rad"
        terms = [f"{name} {size:.3g}" for name, size in self.terms.items() if size]
        if terms:
            largest += f"; observation {', '.join(terms)}"
        return f"{counts}, first difference at {self.difference}\n{largest}"

    def compare_commands(self, logged: joint_command, replayed: joint_command) -> None:
        """Compare a command of the log with that of the replay."""
        self.ticks += 1
        before = np.asarray(logged.position)
        now = np.asarray(replayed.position)
        self.largest = max(self.largest, float(np.abs(now - before).max()))
        for term in SCALAR_TERMS:
            values = np.array([getattr(logged, term), getattr(replayed, term)])
            self._note(logged.sequence, [term], values[:1], values[1:])
        self._note(logged.sequence, TARGET_NAMES, before, now)

    def compare_observations(
        self, layout: Layout, logged: policy_input, replayed: policy_input
    ) -> None:
        """Compare an observation of the log with that of the replay."""
        self.observations += 1
        before = np.asarray(logged.observation)
        now = np.asarray(replayed.observation)
        apart = np.abs(now - before)
        for name, place in layout.slices.items():
            self.terms[name] = max(self.terms.get(name, 0.0), float(apart[place].max()))
        names = [f"observation {name}" for name in layout.names]
        self._note(logged.sequence, names, before, now)

    def _note(self, tick: int, names: Sequence[str], logged: Array, replayed: Array) -> None:
        """Store the difference if it is the first of the whole replay."""
        differing = np.flatnonzero(logged != replayed)
        if self.difference is None and differing.size:
            index = int(differing[0])
            self.difference = Difference(
                tick, names[index], float(logged[index]), float(replayed[index])
            )
