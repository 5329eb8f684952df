"""Gait measures, on feet with a known gait."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.metrics.gait import circular_mean, describe_gait, wrapped
from solo_doi.solo12.constants import FOOT_RADIUS
from tests.evaluate.recordings import GAITS, feet


@pytest.mark.parametrize("gait", GAITS)
def test_phases_are_those_of_the_gait(gait: str) -> None:
    """Phases relative to the front left foot agree within 0.01 cycles, modulo 1."""
    phase = describe_gait(*feet(GAITS[gait])).phase[0]
    np.testing.assert_allclose(wrapped(phase - np.array(GAITS[gait])), 0.0, atol=0.01)


def test_phases_count_from_the_front_left_foot() -> None:
    """A trot that starts elsewhere in its stride is the same trot."""
    shifted = tuple(phase + 0.3 for phase in GAITS["trot"])
    phase = describe_gait(*feet(shifted)).phase[0]
    np.testing.assert_allclose(np.abs(phase), [0, 0.5, 0.5, 0], atol=0.01)


def test_a_foot_that_follows_has_a_positive_phase() -> None:
    """The foot is a tenth of a cycle after the front left one, not before it."""
    phase = describe_gait(*feet((0.0, 0.1, -0.1, 0.0))).phase[0]
    np.testing.assert_allclose(phase, [0, 0.1, -0.1, 0], atol=0.01)


@pytest.mark.parametrize(
    ("gait", "diagonal", "pair"),
    [("trot", 0.0, 0.5), ("pace", 0.5, None), ("bound", 0.5, None), ("pronk", 0.0, 0.0)],
)
def test_only_a_trot_has_diagonals_in_phase_and_half_a_cycle_apart(
    gait: str, diagonal: float, pair: float | None
) -> None:
    """Pace and bound differ within the diagonals, which then have no common phase.

    A pronk has all feet together.
    """
    described = describe_gait(*feet(GAITS[gait]))
    np.testing.assert_allclose(described.diagonal_phase, diagonal, atol=0.01)
    if pair is not None:
        np.testing.assert_allclose(described.pair_phase, pair, atol=0.01)


def test_the_worse_diagonal_counts() -> None:
    """One pair is in phase and the other 0.2 cycles apart: the result is 0.2."""
    described = describe_gait(*feet((0.0, 0.5, 0.7, 0.0)))
    np.testing.assert_allclose(described.diagonal_phase, 0.2, atol=0.01)


@pytest.mark.parametrize("frequency", [1.5, 2.0, 3.25, 6.0])
def test_frequency_is_strides_per_second(frequency: float) -> None:
    """Four seconds resolve a quarter of a hertz."""
    described = describe_gait(*feet(GAITS["trot"], frequency=frequency))
    np.testing.assert_allclose(described.frequency, frequency, atol=0.13)


def test_a_slow_sway_is_not_taken_for_the_stride() -> None:
    """The base sways at 0.5 Hz, below the range of strides, by more than the feet lift."""
    height, contact = feet(GAITS["trot"], frequency=3.0)
    sway = 0.1 * np.sin(2 * np.pi * 0.5 * np.arange(len(height)) * 0.02)
    np.testing.assert_allclose(
        describe_gait(height + sway[:, None, None], contact).frequency, 3.0, atol=0.26
    )


@pytest.mark.parametrize("duty", [0.4, 0.5, 0.7])
def test_duty_is_the_share_of_time_on_the_ground(duty: float) -> None:
    """The tolerance is one of the twenty steps of a stride."""
    described = describe_gait(*feet(GAITS["trot"], frequency=2.5, duty=duty))
    np.testing.assert_allclose(described.duty, duty, atol=0.051)


@pytest.mark.parametrize("lift", [0.02, 0.06])
def test_clearance_is_the_lift_of_the_sole(lift: float) -> None:
    """It is zero on the ground, else the lift at the top of the swing (95 % quantile)."""
    described = describe_gait(*feet(GAITS["trot"], lift=lift, duty=0.5))
    assert (described.clearance <= lift).all()
    assert (described.clearance > 0.9 * lift).all()


def test_feet_that_never_lift_have_no_clearance() -> None:
    """All feet of a standing robot are on the ground."""
    described = describe_gait(np.full((100, 1, 4), FOOT_RADIUS), np.ones((100, 1, 4), dtype=bool))
    np.testing.assert_allclose(described.clearance, 0.0, atol=1e-12)
    np.testing.assert_array_equal(described.duty, 1.0)


def test_robots_are_described_one_by_one() -> None:
    """One robot trots at 2 Hz, another bounds at 4 Hz."""
    trot, bound = feet(GAITS["trot"], frequency=2.0), feet(GAITS["bound"], frequency=4.0)
    both = describe_gait(*(np.concatenate(pair, axis=1) for pair in zip(trot, bound, strict=True)))
    np.testing.assert_allclose(both.frequency, [2.0, 4.0], atol=0.13)
    np.testing.assert_allclose(both.diagonal_phase, [0.0, 0.5], atol=0.01)
    assert both.phase.shape == both.duty.shape == both.clearance.shape == (2, 4)


def test_wrapped_phases_lie_within_half_a_cycle() -> None:
    """0.5 itself counts as -0.5: the interval is half open."""
    np.testing.assert_allclose(
        wrapped(np.array([0.0, 0.4, 0.5, 0.75, -0.6, 2.25])), [0, 0.4, -0.5, -0.25, 0.4, 0.25]
    )


def test_the_mean_of_phases_goes_round_the_circle() -> None:
    """0.9 and 0.1 are around 0, not around 0.5."""
    np.testing.assert_allclose(
        circular_mean(np.array([[0.9, 0.1], [0.2, 0.3]])), [0.0, 0.25], atol=1e-12
    )
