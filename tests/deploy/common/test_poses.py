"""Slow motions: from where they start to where they end, without a jump of position or velocity."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.common.poses import LYING, LYING_HEIGHT, Glide
from solo_doi.solo12.constants import CONTROL_SETUPS, FOOT_RADIUS, NUM_JOINTS
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.limits import TRAINING

START, END = np.linspace(-1, 1, NUM_JOINTS), np.linspace(2, -2, NUM_JOINTS)
POSE = CONTROL_SETUPS["locomotion"].default_pose


def test_a_glide_starts_and_ends_where_it_should() -> None:
    """Exactly, and it stays at its end; before its start it waits."""
    glide = Glide(START, END, 1.5)
    for time in (-1.0, 0.0):
        np.testing.assert_array_equal(glide.target(time), START)
    for time in (1.5, 2.0, 1e9):
        np.testing.assert_allclose(glide.target(time), END, rtol=0, atol=1e-15)
    np.testing.assert_allclose(glide.target(0.75), (START + END) / 2, atol=1e-12)


def test_a_glide_has_arrived_when_its_time_is_over() -> None:
    """Not a tick before."""
    glide = Glide(START, END, 1.5)
    assert not glide.arrived(np.nextafter(1.5, 0.0))
    assert glide.arrived(1.5)


@given(duration=st.floats(0.1, 5), time=st.floats(0, 1))
def test_a_glide_is_smooth(duration: float, time: float) -> None:
    """At most 15/8 of the mean speed, never beyond its ends, almost at rest at both of them."""
    glide, step = Glide(START, END, duration), duration * 1e-4
    now, after = glide.target(time * duration), glide.target(time * duration + step)
    assert (np.abs(after - now) <= 1.8751 * np.abs(END - START) * step / duration + 1e-12).all()
    share = (now - START) / (END - START)
    assert (share >= -1e-12).all()
    assert (share <= 1 + 1e-12).all()
    assert (np.abs(glide.target(step) - START) <= 1e-10 * np.abs(END - START)).all()


def test_a_glide_without_a_duration_is_at_its_end() -> None:
    """At once, without a division by zero."""
    np.testing.assert_allclose(Glide(START, END, 0.0).target(0.0), END, rtol=0, atol=1e-15)
    assert Glide(START, END, 0.0).arrived(0.0)


def test_a_glide_without_an_end_stays() -> None:
    """Standing is a motion that never arrives."""
    glide = Glide(START, START, inf)
    np.testing.assert_array_equal(glide.target(1e6), START)
    assert not glide.arrived(1e6)


def test_a_glide_does_not_follow_its_start() -> None:
    """The caller may change the array later."""
    start = START.copy()
    glide = Glide(start, END, 1.0)
    start += 5
    np.testing.assert_array_equal(glide.target(0.0), START)


def test_lying_is_within_the_training_limits() -> None:
    """A target beyond them would be refused by the robot."""
    assert (np.abs(LYING) <= TRAINING.position).all()


def test_lying_feet_are_on_the_ground() -> None:
    """At the height the simulated robot starts from: not in it, and less than 5 mm above it."""
    height = foot_positions(LYING)[:, 2] + LYING_HEIGHT - FOOT_RADIUS
    assert (height >= 0.0).all()
    assert (height < 0.005).all()


def test_feet_hardly_slide_between_lying_and_standing() -> None:
    """Each is at the same place below the base in both poses."""
    shift = foot_positions(LYING)[:, :2] - foot_positions(POSE)[:, :2]
    assert np.abs(shift).max() == pytest.approx(0.0, abs=0.02)
