"""What training reads: transitions in memory, whatever file they came from. Labels are not among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from .shard import DataError


@dataclass(frozen=True, kw_only=True)
class Transitions:
    """N transitions of whole trajectories, one after another. No skill, checkpoint or source can be read here."""

    observations: np.ndarray  # (N, observation)
    next_observations: np.ndarray  # (N, observation)
    actions: np.ndarray | None  # (N, action), or nothing in a state-only expert set
    rewards: np.ndarray  # (N,)
    terminals: np.ndarray  # (N,) the task ended here
    timeouts: np.ndarray  # (N,) the trajectory was cut here
    starts: np.ndarray  # (trajectories,) first transition of each
    terms: dict[str, slice]
    """Where named observation terms lie; foreign files have one term, `observation`."""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        if not len(self):
            raise DataError("There is no whole transition: expected at least one.")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and field.name != "starts" and len(value) != len(self):
                raise DataError(
                    f"{field.name} has {len(value)} rows, observations have {len(self)}."
                )
        for name in ("observations", "next_observations", "actions"):
            value = getattr(self, name)
            if value is None:
                continue
            if value.ndim != 2:
                raise DataError(
                    f"{name} has shape {value.shape}, expected one row of numbers per transition."
                )
            if not np.isfinite(value).all():
                row = np.argwhere(~np.isfinite(value))[0][0]
                raise DataError(
                    f"{name} of transition {row} are not finite. `solo-collect repair` drops such trajectories from a "
                    "dataset of ours."
                )
        if self.next_observations.shape != self.observations.shape:
            raise DataError(
                f"next_observations have {self.next_observations.shape[1]} numbers, "
                f"observations {self.observations.shape[1]}."
            )
        starts = self.starts
        if (
            not len(starts)
            or starts[0] != 0
            or starts[-1] >= len(self)
            or (np.diff(starts) <= 0).any()
        ):
            raise DataError(
                f"Trajectories must start at 0 and follow one another, found starts {starts[:5]}."
            )

    def __len__(self) -> int:
        """Return the number of transitions."""
        return len(self.observations)

    @property
    def trajectory(self) -> np.ndarray:
        """Number of the trajectory that each transition belongs to, (N,)."""
        counts = np.diff(self.starts, append=len(self))
        return np.repeat(np.arange(len(self.starts)), counts)

    @classmethod
    def from_flags(cls, *, terminals: np.ndarray, timeouts: np.ndarray, **others: Any) -> Self:  # noqa: ANN401
        """Build from D4RL's flags: a trajectory ends where either is set, or with the data."""
        ends = np.flatnonzero(terminals | timeouts) + 1
        starts = np.concatenate([[0], ends[ends < len(terminals)]]).astype(np.int64)
        return cls(terminals=terminals, timeouts=timeouts, starts=starts, **others)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Say in errors which file the transitions are from."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
