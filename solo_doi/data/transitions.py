"""Transitions in memory, the input of training, from any file format. They have no labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np

from .shard import DataError


@dataclass(frozen=True, kw_only=True)
class Transitions:
    """N consecutive transitions of whole trajectories, without labels of skill or checkpoint."""

    observations: np.ndarray
    """Observations before each transition, (N, observation)."""
    next_observations: np.ndarray
    """Observations after each transition, (N, observation)."""
    actions: np.ndarray | None
    """Actions, (N, action); None for an expert of states alone."""
    rewards: np.ndarray
    """Rewards, (N,)."""
    terminals: np.ndarray
    """True where the task ended, (N,)."""
    timeouts: np.ndarray
    """True where the trajectory was cut, (N,)."""
    starts: np.ndarray
    """First transition of every trajectory, (trajectories,)."""
    terms: dict[str, slice]
    """Columns of named observation terms. D4RL and Minari data have one term, `observation`."""
    joint_names: tuple[str, ...] = ()
    """Joints in the order of actions; empty for data that do not name them."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        if not len(self):
            raise DataError("There is no whole transition: expected at least one.")
        self._check_lengths()
        for name in ("observations", "next_observations", "actions"):
            self._check_vectors(name)
        if self.next_observations.shape != self.observations.shape:
            raise DataError(
                f"next_observations have {self.next_observations.shape[1]} numbers, "
                f"observations {self.observations.shape[1]}."
            )
        self._check_starts()

    def _check_lengths(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and field.name != "starts" and len(value) != len(self):
                raise DataError(
                    f"{field.name} has {len(value)} rows, observations have {len(self)}."
                )

    def _check_vectors(self, name: str) -> None:
        """Refuse an array that is not a finite row of numbers per transition."""
        value = getattr(self, name)
        if value is None:
            return
        if value.ndim != 2:
            raise DataError(
                f"{name} has shape {value.shape}, expected one row of numbers per transition."
            )
        if not np.isfinite(value).all():
            row = np.argwhere(~np.isfinite(value))[0][0]
            raise DataError(
                f"{name} of transition {row} are not finite. `solo-collect repair` drops such "
                "trajectories from a dataset of solo-collect."
            )

    def _check_starts(self) -> None:
        starts = self.starts
        inside = len(starts) > 0 and starts[0] == 0 and starts[-1] < len(self)
        if not inside or (np.diff(starts) <= 0).any():
            raise DataError(
                f"Trajectories must start at 0 and follow one another, found starts {starts[:5]}."
            )

    def __len__(self) -> int:
        """Return the number of transitions."""
        return len(self.observations)

    @property
    def trajectory(self) -> np.ndarray:
        """Number of each transition's trajectory, (N,)."""
        counts = np.diff(self.starts, append=len(self))
        return np.repeat(np.arange(len(self.starts)), counts)

    @classmethod
    def from_flags(
        cls,
        *,
        observations: np.ndarray,
        next_observations: np.ndarray,
        actions: np.ndarray | None,
        rewards: np.ndarray,
        terminals: np.ndarray,
        timeouts: np.ndarray,
        terms: dict[str, slice],
        joint_names: tuple[str, ...] = (),
    ) -> Self:
        """Build from D4RL's flags: a trajectory ends at a flag, or with the data."""
        ends = np.flatnonzero(terminals | timeouts) + 1
        starts = np.concatenate([[0], ends[ends < len(terminals)]]).astype(np.int64)
        return cls(
            observations=observations,
            next_observations=next_observations,
            actions=actions,
            rewards=rewards,
            terminals=terminals,
            timeouts=timeouts,
            starts=starts,
            terms=terms,
            joint_names=joint_names,
        )


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file's path to errors about transitions."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
