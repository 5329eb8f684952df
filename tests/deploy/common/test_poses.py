"""Slow motions between two poses, without a jump of position or velocity."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.common.poses import LYING, LYING_HEIGHT, Glide
from solo_doi.solo12.constants import CONTROL_SETUPS, FOOT_RADIUS, NUM_JOINTS
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.limits import TRAINING_LIMITS

START, END = np.linspace(-1, 1, NUM_JOINTS), np.linspace(2, -2, NUM_JOINTS)
POSE = CONTROL_SETUPS["locomotion"].default_pose


def test_a_glide_starts_and_ends_where_it_should() -> None:
    """Before its start it waits at the start pose; after its end it stays at the end pose."""
    glide = Glide(START, END, 1.5)
    for time in (-1.0, 0.0):
        np.testing.assert_array_equal(glide.target(time), START)
    for time in (1.5, 2.0, 1e9):
        np.testing.assert_allclose(glide.target(time), END, rtol=0, atol=1e-15)
    np.testing.assert_allclose(glide.target(0.75), (START + END) / 2, atol=1e-12)


def test_a_glide_has_arrived_when_its_time_is_over() -> None:
    """It has not arrived a tick before."""
    glide = Glide(START, END, 1.5)
    assert not glide.arrived(np.nextafter(1.5, 0.0))
    assert glide.arrived(1.5)


@given(duration=st.floats(0.1, 5), time=st.floats(0, 1))
def test_a_glide_is_smooth(duration: float, time: float) -> None:
    """The speed is at most 15/8 of the mean.

    The motion stays within its ends and is slow at both.
    """
    glide, step = Glide(START, END, duration), duration * 1e-4
    now, after = glide.target(time * duration), glide.target(time * duration + step)
    assert (np.abs(after - now) <= 1.8751 * np.abs(END - START) * step / duration + 1e-12).all()
    share = (now - START) / (END - START)
    assert (share >= -1e-12).all()
    assert (share <= 1 + 1e-12).all()
    assert (np.abs(glide.target(step) - START) <= 1e-10 * np.abs(END - START)).all()


def test_a_glide_without_a_duration_is_at_its_end() -> None:
    """The end is reached at once, without a division by zero."""
    np.testing.assert_allclose(Glide(START, END, 0.0).target(0.0), END, rtol=0, atol=1e-15)
    assert Glide(START, END, 0.0).arrived(0.0)


def test_a_glide_without_an_end_stays() -> None:
    """Standing is a motion without an end."""
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
    """The robot would refuse a target beyond them."""
    assert (np.abs(LYING) <= TRAINING_LIMITS.position).all()


def test_lying_feet_are_on_the_ground() -> None:
    """At the initial height of the simulated robot, feet are at most 5 mm above the ground."""
    height = foot_positions(LYING)[:, 2] + LYING_HEIGHT - FOOT_RADIUS
    assert (height >= 0.0).all()
    assert (height < 0.005).all()


def test_feet_hardly_slide_between_lying_and_standing() -> None:
    """Each foot has the same horizontal position below the base in both poses."""
    shift = foot_positions(LYING)[:, :2] - foot_positions(POSE)[:, :2]
    assert np.abs(shift).max() == pytest.approx(0.0, abs=0.02)
