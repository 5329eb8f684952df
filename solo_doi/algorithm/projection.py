"""The projection Pi: named observation terms that classifier and discriminator see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.data.transitions import Transitions

AXIS_NAMES = "xyz"


def columns(terms: Mapping[str, slice], names: Sequence[str], where: str) -> np.ndarray:
    """Return the columns of named terms; TERM is all of a term, TERM.x or TERM.0 one number."""
    chosen: list[int] = []
    for name in names:
        term, _, part = name.partition(".")
        if term not in terms:
            raise UnknownNameError(f"observation term of {where}", term, terms)
        numbers = list(range(terms[term].start, terms[term].stop))
        if part:
            index = _index(part)
            if index is None or index >= len(numbers):
                raise SoloError(
                    f"{name!r}: {term} of {where} has {len(numbers)} numbers; expected one of them "
                    "after the dot."
                )
            numbers = [numbers[index]]
        chosen += numbers
    return np.array(chosen)


def _index(part: str) -> int | None:
    """Return the index that an axis (x, y, z) or a number names; None if it names none."""
    if part in tuple(AXIS_NAMES):
        return AXIS_NAMES.index(part)
    if part.isdecimal():
        return int(part)
    return None


def projected(data: Transitions, names: Sequence[str], average: int, where: str) -> np.ndarray:
    """Return named terms of every observation, averaged over the last `average` steps."""
    chosen = data.observations[:, columns(data.terms, names, where)]
    if average <= 1:
        return chosen
    return causal_average(chosen, data.starts, average)


def swings(data: Transitions, names: Sequence[str], steps: int, where: str) -> np.ndarray:
    """Return the deviation of named terms over the last `steps` steps, (N, F)."""
    chosen = data.observations[:, columns(data.terms, names, where)]
    # Centred, so that squares lose no digits.
    centred = chosen - chosen.mean(0, dtype=np.float64).astype(np.float32)
    mean = causal_average(centred, data.starts, steps)
    square = causal_average(np.square(centred, dtype=np.float64), data.starts, steps)
    return np.sqrt(np.maximum(square - np.square(mean), 0.0))


def causal_average(values: np.ndarray, starts: np.ndarray, steps: int) -> np.ndarray:
    """Mean (N, F) over the last `steps` rows of the same trajectory, fewer at its beginning."""
    rows = np.arange(len(values))
    trajectory = np.searchsorted(starts, rows, side="right") - 1
    first = np.maximum(rows - steps + 1, starts[trajectory])
    zero = np.zeros((1, values.shape[1]))
    total = np.concatenate([zero, np.cumsum(values, axis=0, dtype=np.float64)])
    return ((total[rows + 1] - total[first]) / (rows + 1 - first)[:, None]).astype(np.float32)


def whole_averages(data: Transitions, names: Sequence[str], where: str) -> np.ndarray:
    """Return the mean of named terms over the trajectory of every row, (N, F)."""
    chosen = data.observations[:, columns(data.terms, names, where)]
    lengths = np.diff(data.starts, append=len(data))
    total = np.add.reduceat(chosen, data.starts, axis=0, dtype=np.float64)
    return (total / lengths[:, None])[data.trajectory].astype(np.float32)
