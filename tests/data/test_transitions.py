"""Transitions in memory: validation, and the boundaries of trajectories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.data.shard import DataError
from solo_doi.data.transitions import Transitions

from .datasets import made_up_transitions

DATA = made_up_transitions((3, 1, 4))


def test_trajectories_are_numbered() -> None:
    """The trajectories have three, one and four transitions."""
    assert DATA.trajectory.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]


def test_flags_end_trajectories_and_the_end_of_the_data_does_too() -> None:
    """There are a terminal at 2, a time-out at 3 and a last fragment without a flag."""
    flags = {"terminals": np.arange(8) == 2, "timeouts": np.arange(8) == 3}
    others = {
        name: getattr(DATA, name)
        for name in ("observations", "next_observations", "actions", "rewards")
    }
    data = Transitions.from_flags(**flags, **others, terms=DATA.terms)
    assert data.starts.tolist() == [0, 3, 4]


def test_a_flag_on_the_last_row_starts_no_empty_trajectory() -> None:
    """No rows follow it."""
    flags = {"terminals": np.zeros(8, dtype=bool), "timeouts": np.arange(8) == 7}
    others = {
        name: getattr(DATA, name)
        for name in ("observations", "next_observations", "actions", "rewards")
    }
    assert Transitions.from_flags(**flags, **others, terms=DATA.terms).starts.tolist() == [0]


@pytest.mark.parametrize(
    "name", ["next_observations", "actions", "rewards", "terminals", "timeouts"]
)
def test_an_array_of_another_length_is_refused(name: str) -> None:
    """Rows of different arrays would not match."""
    with pytest.raises(DataError, match=f"{name} has 7 rows, observations have 8"):
        replace(DATA, **{name: getattr(DATA, name)[:-1]})


@pytest.mark.parametrize("name", ["observations", "next_observations", "actions"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_place(name: str, value: float) -> None:
    """A single one makes every weight of a network NaN."""
    array = getattr(DATA, name).copy()
    array[5, 1] = value
    with pytest.raises(DataError, match=f"{name} of transition 5 are not finite"):
        replace(DATA, **{name: array})


def test_a_successor_of_another_size_is_refused() -> None:
    with pytest.raises(DataError, match="next_observations have 3 numbers, observations 4"):
        replace(DATA, next_observations=DATA.next_observations[:, :3])


def test_observations_must_be_rows_of_numbers() -> None:
    """Discrete observations of another task are refused."""
    with pytest.raises(
        DataError,
        match=r"observations has shape \(8,\), expected one row of numbers per transition",
    ):
        replace(DATA, observations=DATA.observations[:, 0])


@pytest.mark.parametrize("starts", [[], [1, 4], [0, 4, 4], [0, 5, 3], [0, 8]])
def test_trajectories_must_follow_one_another(starts: list[int]) -> None:
    """They must begin with the first row; empty ones and ones beyond the end are refused."""
    with pytest.raises(DataError, match="Trajectories must start at 0 and follow one another"):
        replace(DATA, starts=np.array(starts, dtype=np.int64))


def test_no_transitions_are_no_data() -> None:
    """An empty file is an error here instead of a division by zero in training."""
    with pytest.raises(DataError, match="There is no whole transition"):
        replace(
            DATA,
            **{
                name: getattr(DATA, name)[:0]
                for name in ("observations", "next_observations", "starts")
            },
        )


def test_actions_may_be_missing() -> None:
    """Only states are known of the expert."""
    assert replace(DATA, actions=None).actions is None
