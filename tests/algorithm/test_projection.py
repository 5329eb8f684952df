"""The projection: choice of terms by name, and causal averages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.algorithm.projection import causal_average, columns, projected, swings, whole_averages
from solo_doi.common.errors import SoloError, UnknownNameError

from .small import table

TERMS = {"velocity": slice(0, 3), "height": slice(3, 4), "joints": slice(4, 16)}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["velocity"], [0, 1, 2]),
        (["velocity.x"], [0]),
        (["velocity.z", "velocity.y"], [2, 1]),
        (["joints.11", "height"], [15, 3]),
        (["joints.x"], [4]),
        (["height.0", "velocity.2"], [3, 2]),
    ],
)
def test_terms_are_found_by_name(names: list[str], expected: list[int]) -> None:
    """Whole terms, axes and indices are returned in the requested order."""
    assert columns(TERMS, names, "the data").tolist() == expected


def test_an_unknown_term_is_named_with_what_there_is() -> None:
    """The error names the nearest term, the known terms and the dataset."""
    expected = (
        r"Unknown observation term of the expert data 'velocty'. "
        r"Did you mean 'velocity'\? Known: height, joints"
    )
    with pytest.raises(UnknownNameError, match=expected):
        columns(TERMS, ["velocty.x"], "the expert data")


@pytest.mark.parametrize("part", ["3", "xy", "yz", "w", "-1", "1.5", "X", "²"])
def test_a_part_that_a_term_does_not_have_is_refused(part: str) -> None:
    """The part after the dot must be exactly one axis or index."""
    with pytest.raises(
        SoloError, match=r"velocity of the data has 3 numbers; expected one of them after the dot"
    ):
        columns(TERMS, [f"velocity.{part}"], "the data")


def test_an_axis_that_a_short_term_does_not_have_is_refused() -> None:
    """A height has one number and therefore no y."""
    with pytest.raises(SoloError, match=r"'height\.y': height of the data has 1 numbers"):
        columns(TERMS, ["height.y"], "the data")


def test_average_by_hand() -> None:
    """Trajectories 1, 3, 8, 4 and 10, 20 are averaged over three steps.

    The average at the beginning has fewer steps and no values of the previous trajectory.
    """
    values = np.array([1, 3, 8, 4, 10, 20], dtype=np.float32)[:, None]
    found = causal_average(values, np.array([0, 4]), 3)
    np.testing.assert_allclose(found[:, 0], [1, 2, 4, 5, 10, 15])
    assert found.dtype == np.float32


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=5), st.integers(1, 10), st.integers(0, 1000)
)
def test_average_equals_a_loop_over_earlier_rows(lengths: list[int], steps: int, seed: int) -> None:
    """The reference averages row by row within one trajectory."""
    values = np.random.default_rng(seed).normal(size=(sum(lengths), 2)).astype(np.float32)
    starts = np.cumsum([0, *lengths[:-1]])
    expected = []
    for first, length in zip(starts, lengths, strict=True):
        expected += [
            values[max(first, row - steps + 1) : row + 1].mean(0)
            for row in range(first, first + length)
        ]
    np.testing.assert_allclose(
        causal_average(values, starts, steps), expected, rtol=1e-5, atol=1e-6
    )


def test_average_does_not_lose_digits_over_many_rows() -> None:
    """In single precision, a sum over 200,000 rows of about 1000 would lose all decimals."""
    values = np.full((200_000, 1), 1000.125, dtype=np.float32)
    np.testing.assert_array_equal(causal_average(values, np.array([0]), 25), values)


def test_projected_chooses_and_averages() -> None:
    """The second of two numbers, 2, 4, 6, is averaged over two steps.

    One step leaves it unchanged.
    """
    data = table(np.array([[1, 2], [3, 4], [5, 6]]), length=3)
    np.testing.assert_allclose(projected(data, ["observation.1"], 2, "the data"), [[2], [3], [5]])
    np.testing.assert_array_equal(
        projected(data, ["observation.1"], 1, "the data"), [[2], [4], [6]]
    )


def test_whole_averages_are_those_of_the_rows_trajectory() -> None:
    """Two trajectories of three rows have the means 4 and 20 in every row."""
    values = np.array([[1, 2], [3, 4], [5, 6], [0, 10], [0, 20], [0, 30]])
    found = whole_averages(table(values, length=3), ["observation.1"], "the data")
    np.testing.assert_allclose(found[:, 0], [4, 4, 4, 20, 20, 20])


def test_swings_are_deviations_over_the_last_steps() -> None:
    """The second number is 1002, 1004, 1004 in one trajectory and 7 in the next, over two steps."""
    data = table(np.array([[1, 1002], [3, 1004], [5, 1004], [0, 7], [0, 7], [0, 7]]), length=3)
    found = swings(data, ["observation.1"], 2, "the data")
    np.testing.assert_allclose(found, [[0], [1], [0], [0], [0], [0]], atol=1e-3)
