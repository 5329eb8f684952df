"""The projection Pi: which observation terms classifier and discriminator see, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.data.transitions import Transitions

AXES = "xyz"


def columns(terms: Mapping[str, slice], names: Sequence[str], where: str) -> np.ndarray:
    """Column numbers of named terms: TERM for all of a term, TERM.x or TERM.0 for one of its numbers."""
    chosen: list[int] = []
    for name in names:
        term, _, part = name.partition(".")
        if term not in terms:
            raise UnknownNameError(f"observation term of {where}", term, terms)
        numbers = list(range(terms[term].start, terms[term].stop))
        if part:
            index = (
                AXES.find(part) if part in tuple(AXES) else int(part) if part.isdecimal() else -1
            )
            if not 0 <= index < len(numbers):
                raise SoloError(
                    f"{name!r}: {term} of {where} has {len(numbers)} numbers; expected one of them after the dot."
                )
            numbers = [numbers[index]]
        chosen += numbers
    return np.array(chosen)


def projected(data: Transitions, names: Sequence[str], average: int, where: str) -> np.ndarray:
    """Named numbers of every observation, averaged over the last `average` steps of its trajectory."""
    chosen = data.observations[:, columns(data.terms, names, where)]
    return causal_average(chosen, data.starts, average) if average > 1 else chosen


def causal_average(values: np.ndarray, starts: np.ndarray, steps: int) -> np.ndarray:
    """Mean over the last `steps` rows of the same trajectory, fewer at its beginning; (N, F)."""
    rows = np.arange(len(values))
    trajectory = np.searchsorted(starts, rows, side="right") - 1
    first = np.maximum(rows - steps + 1, starts[trajectory])
    total = np.concatenate(
        [np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)]
    )
    return ((total[rows + 1] - total[first]) / (rows + 1 - first)[:, None]).astype(np.float32)
