"""Known defects of real boards in simulated sensors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deploy.common.known_defects import (
    CURRENT_OFFSET,
    ENCODER_STEP,
    LARGEST_SPIKE,
    LONGEST_SPIKE,
    SMALLEST_SPIKE,
    VELOCITY_STEP,
    KnownDefects,
)
from deploy.robots.simulated.bullet_solo import BulletSolo
from solo_doi.solo12.limits import GEAR_RATIO, TORQUE_PER_AMPERE


@pytest.fixture
def defects() -> KnownDefects:
    """Return the defects of a seed."""
    return KnownDefects(3)


def test_the_lowest_bit_of_a_velocity_is_always_set(defects: KnownDefects) -> None:
    velocity = np.linspace(-50.0, 50.0, 12)
    counts = defects.velocity(np.full(12, 0.5), velocity) / VELOCITY_STEP
    assert counts == pytest.approx(np.rint(counts))
    assert (np.rint(counts) % 2 == 1).all()
    assert np.abs(counts * VELOCITY_STEP - velocity).max() <= VELOCITY_STEP


def test_every_passage_of_zero_is_a_spike(defects: KnownDefects) -> None:
    """Sizes are those that were reported, in one to three samples."""
    sizes = []
    for _ in range(200):
        samples = [
            defects.velocity(np.full(12, angle), np.zeros(12)) for angle in (-0.1, *9 * [0.1])
        ]
        samples += [defects.velocity(np.full(12, -0.1), np.zeros(12)) for _ in range(LONGEST_SPIKE)]
        spikes = np.abs(np.array(samples[1:10])) > 2 * VELOCITY_STEP
        lengths = spikes.sum(axis=0)
        assert ((lengths >= 1) & (lengths <= LONGEST_SPIKE)).all()
        assert spikes[0].all()
        sizes.append(np.abs(samples[1]) / GEAR_RATIO)
    assert SMALLEST_SPIKE - 0.01 <= np.min(sizes) < 2.2
    assert 105.0 < np.max(sizes) <= LARGEST_SPIKE + 0.01
    assert np.median(sizes) == pytest.approx(math.sqrt(SMALLEST_SPIKE * LARGEST_SPIKE), rel=0.15)


def test_a_motor_that_passes_no_zero_has_no_spikes(defects: KnownDefects) -> None:
    for angle in np.linspace(0.1, 6.2, 500):
        measured = defects.velocity(np.full(12, angle), np.zeros(12))
        assert np.abs(measured).max() <= VELOCITY_STEP


def test_positions_have_the_steps_of_an_encoder(defects: KnownDefects) -> None:
    angle = np.linspace(-7.0, 7.0, 12)
    measured = defects.position(angle)
    assert np.abs(measured - angle).max() <= ENCODER_STEP
    assert measured / ENCODER_STEP == pytest.approx(np.rint(measured / ENCODER_STEP))


def test_frames_of_zeros_come_once_a_second(defects: KnownDefects) -> None:
    assert sum(defects.zero_frame() for _ in range(300_000)) == pytest.approx(300, abs=60)


def test_current_sensors_have_offsets(defects: KnownDefects) -> None:
    assert np.abs(defects.current_offset).max() <= CURRENT_OFFSET
    assert np.unique(defects.current_offset).size == 12


def test_a_seed_repeats_its_defects() -> None:
    first, second = KnownDefects(5), KnownDefects(5)
    assert first.current_offset.tolist() == second.current_offset.tolist()
    assert [first.zero_frame() for _ in range(5000)] == [second.zero_frame() for _ in range(5000)]


def test_a_dry_run_shows_the_defects() -> None:
    """Frames of zeros, odd velocities and torque offsets are in the measurements of PyBullet."""
    robot = BulletSolo(defects=3)
    measured = [robot.sense() for _ in range(3000)]
    robot.close()
    assert 1 <= sum(not sensors.joint_position.any() for sensors in measured) <= 10
    assert 1 <= sum(not sensors.acceleration_b.any() for sensors in measured) <= 10
    offset = KnownDefects(3).current_offset * TORQUE_PER_AMPERE
    assert measured[0].joint_torque == pytest.approx(offset)
