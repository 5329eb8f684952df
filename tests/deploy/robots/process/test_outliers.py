"""Rejection of single wrong measurements, and faults for lasting ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.robots.process.outliers import (
    DISAGREEMENTS,
    LARGEST_GYROSCOPE_STEP,
    MOST_ZERO_FRAMES,
    OutlierFilter,
)
from solo_doi.solo12.constants import Array
from solo_doi.solo12.rotations import IDENTITY
from tests.deploy.stage import sensors, with_joint

SPEED = 5.0
"""Velocity of every joint [rad/s]."""


class Swing:
    """Joints that turn at a constant velocity, with measurements that a test changes."""

    def __init__(self, before: int = 10) -> None:
        """Start with some good measurements."""
        self.filter = OutlierFilter()
        self.ticks = 0
        for _ in range(before):
            self.clean()

    def truth(self) -> Sensors:
        """Return the measurement of the next tick."""
        time = 1.0 + self.ticks * TICK
        position = np.full(12, -1.002) + SPEED * TICK * self.ticks
        return sensors(time, joint_position=position, joint_velocity=np.full(12, SPEED))

    def clean(self, **changes: Any) -> tuple[Sensors, Fault | None]:
        """Filter the next measurement with changes."""
        truth = self.truth()
        self.ticks += 1
        return self.filter.clean(replace(truth, **changes))


@pytest.fixture
def swing() -> Swing:
    """Return joints that turn."""
    return Swing()


def velocity(joint: int, value: float) -> Array:
    """Return the velocities with one wrong."""
    return with_joint(np.full(12, SPEED), joint, value)


def pitched(angle: float) -> Array:
    """Return an attitude that is turned about the y axis [rad]."""
    return np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])


def test_good_measurements_pass_unchanged(swing: Swing) -> None:
    truth = swing.truth()
    clean, fault = swing.filter.clean(truth)
    assert clean is truth
    assert fault is None
    assert +swing.filter.counts == {}


@pytest.mark.parametrize("spike", [2.0, -2.0, 120.0, -120.0])
def test_velocity_spikes_are_replaced_by_the_encoder(swing: Swing, spike: float) -> None:
    for _ in range(3):
        clean, fault = swing.clean(joint_velocity=velocity(7, SPEED + spike))
        assert clean.joint_velocity == pytest.approx(np.full(12, SPEED), abs=1e-6)
        assert fault is None
    assert swing.filter.counts["velocities"] == 3


def test_velocities_within_the_tolerance_are_kept(swing: Swing) -> None:
    clean, _ = swing.clean(joint_velocity=velocity(7, SPEED + 1.1))
    assert clean.joint_velocity[7] == SPEED + 1.1


def test_velocities_that_stay_wrong_are_a_fault(swing: Swing) -> None:
    for _ in range(DISAGREEMENTS):
        assert swing.clean(joint_velocity=velocity(7, SPEED + 3.0))[1] is None
    _, fault = swing.clean(joint_velocity=velocity(7, SPEED + 3.0))
    assert fault is not None
    assert (fault.cause, fault.joint, fault.value) == (Cause.VELOCITY_DISAGREES, 7, 26)


def test_disagreements_are_forgotten_after_a_hundred_ticks(swing: Swing) -> None:
    for _ in range(3):
        for _ in range(DISAGREEMENTS):
            assert swing.clean(joint_velocity=velocity(7, SPEED + 3.0))[1] is None
        for _ in range(100):
            assert swing.clean()[1] is None


def test_a_reset_forgets_disagreements(swing: Swing) -> None:
    for _ in range(DISAGREEMENTS):
        swing.clean(joint_velocity=velocity(7, SPEED + 3.0))
    swing.filter.reset()
    assert swing.clean(joint_velocity=velocity(7, SPEED + 3.0))[1] is None


@pytest.mark.parametrize("jump", [0.006, 0.3, -1.5])
def test_a_single_wrong_position_is_predicted(swing: Swing, jump: float) -> None:
    right = swing.truth().joint_position
    clean, _ = swing.clean(joint_position=with_joint(right, 3, right[3] + jump))
    assert clean.joint_position == pytest.approx(right, abs=1e-6)
    assert clean.joint_velocity == pytest.approx(np.full(12, SPEED))
    assert swing.filter.counts["positions"] == 1
    truth = swing.truth()
    assert swing.clean()[0].joint_position == pytest.approx(truth.joint_position)


def test_a_lasting_jump_passes_in_the_next_tick(swing: Swing) -> None:
    """The gate reports it."""
    for expected in (False, True):
        wrong = swing.truth().joint_position + 1.5 * (np.arange(12) == 3)
        clean, _ = swing.clean(joint_position=wrong)
        assert (clean.joint_position[3] == wrong[3]) is np.bool_(expected)


def test_a_recurring_jump_passes(swing: Swing) -> None:
    swing.clean(joint_position=swing.truth().joint_position + 1.5 * (np.arange(12) == 3))
    swing.clean()
    wrong = swing.truth().joint_position + 1.5 * (np.arange(12) == 3)
    assert swing.clean(joint_position=wrong)[0].joint_position[3] == wrong[3]


def test_frames_of_zero_positions_are_predicted(swing: Swing) -> None:
    for _ in range(MOST_ZERO_FRAMES):
        right = swing.truth().joint_position
        clean, _ = swing.clean(joint_position=np.zeros(12))
        assert clean.joint_position == pytest.approx(right, abs=1e-6)
    assert swing.filter.counts["position zero frames"] == MOST_ZERO_FRAMES


def test_zero_frame_and_spike_in_one_packet(swing: Swing) -> None:
    """The prediction uses the last good velocity."""
    right = swing.truth().joint_position
    clean, _ = swing.clean(joint_position=np.zeros(12), joint_velocity=velocity(0, 90.0))
    assert clean.joint_position == pytest.approx(right, abs=1e-6)
    assert clean.joint_velocity[0] == pytest.approx(SPEED, abs=1e-6)


def test_lasting_zero_positions_reach_the_gate(swing: Swing) -> None:
    seen = [swing.clean(joint_position=np.zeros(12))[0].joint_position for _ in range(6)]
    assert [position.any() for position in seen] == [True, True, True, False, False, False]


def test_frames_of_imu_zeros_hold_the_readings_before(swing: Swing) -> None:
    before = swing.clean()[0]
    zero = np.zeros(3)
    for _ in range(30):  # the gate calls them frozen after 20 ms
        clean, _ = swing.clean(angular_velocity_b=zero, acceleration_b=zero, quaternion=IDENTITY)
        assert clean.acceleration_b is before.acceleration_b
        assert clean.quaternion is before.quaternion
    assert swing.filter.counts["imu zero frames"] == 30


@pytest.mark.parametrize(
    "change",
    [
        {"quaternion": pitched(1.3)},
        {"angular_velocity_b": np.array([0.0, LARGEST_GYROSCOPE_STEP + 1.0, 0.0])},
    ],
)
def test_an_impossible_step_of_the_imu_is_held_once(swing: Swing, change: dict[str, Any]) -> None:
    (name, value), *_ = change.items()
    assert getattr(swing.clean(**change)[0], name) is not value
    assert getattr(swing.clean(**change)[0], name) is value


def test_a_turning_base_passes(swing: Swing) -> None:
    """The attitude of the fastest base that a gyroscope measures is no outlier."""
    for number in range(20):
        attitude = pitched(0.016 * number)
        assert swing.clean(quaternion=attitude)[0].quaternion is attitude


def test_joints_that_are_being_calibrated_may_jump(swing: Swing) -> None:
    ready = np.zeros(12, dtype=bool)
    swing.clean(ready=ready)
    moved = swing.truth().joint_position + 0.7
    clean, fault = swing.clean(ready=ready, joint_position=moved)
    assert clean.joint_position is moved
    assert fault is None


def test_numbers_that_are_not_finite_pass(swing: Swing) -> None:
    """The gate reports them."""
    wrong = np.full(12, np.nan)
    assert swing.clean(joint_velocity=wrong)[0].joint_velocity is wrong


def test_a_gap_widens_the_tolerance(swing: Swing) -> None:
    """Over ten lost packets, a joint may have changed its velocity ten times as much."""
    swing.ticks += 9
    clean, _ = swing.clean(elapsed=0.010, joint_velocity=velocity(2, SPEED + 10.0))
    assert clean.joint_velocity[2] == SPEED + 10.0


def test_a_spike_after_a_predicted_position_is_held(swing: Swing) -> None:
    """The encoder's difference from a prediction is not trusted; a landing foot's step is kept."""
    fast = np.full(12, SPEED + 20.0)
    swing.clean(joint_position=np.zeros(12), joint_velocity=velocity(0, SPEED + 20.0))
    moved = swing.truth().joint_position + 0.02
    clean, _ = swing.clean(joint_position=moved, joint_velocity=fast)
    assert clean.joint_velocity[1] == SPEED + 20.0
    swing = Swing()
    swing.clean(joint_position=np.zeros(12))
    moved = swing.truth().joint_position + 0.05
    clean, _ = swing.clean(joint_position=moved, joint_velocity=velocity(0, 60.0))
    assert clean.joint_velocity[0] == pytest.approx(SPEED, abs=1e-6)


@pytest.mark.parametrize("changes", [{"joint_position": np.zeros(12)}, {}])
def test_a_spike_beside_a_frame_of_zeros_is_replaced(swing: Swing, changes: Any) -> None:
    """In the same tick, and in the next one."""
    if not changes:
        swing.clean(joint_position=np.zeros(12))
    cleaned, _ = swing.clean(joint_velocity=velocity(3, SPEED + 20.0), **changes)
    assert cleaned.joint_velocity[3] == pytest.approx(SPEED)


def test_an_impossible_step_after_a_frame_of_zeros_is_held(swing: Swing) -> None:
    """A frame of zeros does not use up the one reading that is held."""
    swing.clean(angular_velocity_b=np.zeros(3), acceleration_b=np.zeros(3))
    cleaned, _ = swing.clean(angular_velocity_b=np.array([30.0, 0.0, 0.0]))
    assert abs(cleaned.angular_velocity_b[0]) < 1.0


@pytest.mark.parametrize(
    ("zeros", "cause"),
    [
        ({"joint_position": np.zeros(12)}, Cause.VELOCITY_DISAGREES),
        ({"angular_velocity_b": np.zeros(3), "acceleration_b": np.zeros(3)}, Cause.IMU_FROZEN),
    ],
)
def test_frames_of_zeros_that_recur_are_a_fault(swing: Swing, zeros: Any, cause: Cause) -> None:
    """Three of four frames are a broken sensor, although three in a row are replaced."""
    faults = [swing.clean(**(zeros if k % 4 else {}))[1] for k in range(60)]
    found = [fault.cause for fault in faults if fault is not None]
    assert found[0] is cause
    assert faults.index(None, 0) == 0
