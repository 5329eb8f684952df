"""Odometry: a walk by onboard estimates, marked as estimated, with falls."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.common.walk_summary import FALL_TILT, STARTUP_SECONDS
from deploy.controller.odometry import Odometry
from deploy.robots.virtual_board.true_path import TruePath
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.estimator import Estimate
from tests.deploy.robots.odri.robots import Session
from tests.deploy.stage import Stage, sensors


def estimate(velocity: float = 0.5, tilt: float = 0.0) -> Estimate:
    """Return the estimate of a tilted robot that moves forward."""
    gravity = np.array([0.0, sin(tilt), -cos(tilt)])
    return Estimate(gravity, np.array([velocity, 0.0, 0.0]), np.zeros(3), np.ones(4))


def test_only_walking_counts() -> None:
    """The robot walks for two seconds at 0.5 m/s, between two times of standing."""
    walk, ticks = Odometry(), round(2.0 / TICK)
    # Half of the joints drive, the others brake: their powers must not cancel.
    moving = sensors(
        joint_torque=np.full(NUM_JOINTS, 0.5), joint_velocity=np.tile([1.0, -1.0], NUM_JOINTS // 2)
    )
    for state, count in (
        (ControllerState.READY, 100),
        (ControllerState.WALK, ticks),
        (ControllerState.STAND, 100),
    ):
        for _ in range(count):
            walk.update(state, moving, estimate(), 1.0)
    summary = walk.summary()
    assert summary.walked_seconds == pytest.approx(2.0)
    assert summary.distance == pytest.approx(1.0)
    assert (summary.velocity, summary.commanded) == (pytest.approx(0.5), pytest.approx(1.0))
    assert summary.energy == pytest.approx(2.0 * NUM_JOINTS * 0.5)
    assert (summary.falls, summary.estimated) == (0, True)


def test_the_first_second_does_not_count_for_the_velocity() -> None:
    """The robot starts from standing."""
    walk = Odometry()
    for _ in range(round(STARTUP_SECONDS / TICK)):
        walk.update(ControllerState.WALK, sensors(), estimate(), 1.0)
    assert walk.summary().velocity == 0.0
    walk.update(ControllerState.WALK, sensors(), estimate(0.7), 1.0)
    assert walk.summary().velocity == pytest.approx(0.7)


def test_a_fall_is_counted_though_it_ends_the_walk() -> None:
    """It counts in the tick of the fault; later ticks and a tilted sitting robot do not count."""
    walk = Odometry()
    walk.update(ControllerState.WALK, sensors(), estimate(), 1.0)
    for state in (
        ControllerState.FAULT,
        ControllerState.FAULT,
        ControllerState.IDLE,
        ControllerState.SIT,
    ):
        walk.update(state, sensors(), estimate(tilt=FALL_TILT + 0.01), 1.0)
    assert walk.summary().falls == 1


def test_there_is_no_walk_before_the_first_state() -> None:
    """There is no division by zero either."""
    walk = Odometry()
    walk.update(ControllerState.WALK, None, None, 1.0)
    assert walk.summary().velocity == 0.0


def test_a_controller_reckons_its_walk() -> None:
    """The summary contains the velocity command of the skill."""
    stage = Stage()
    stage.walking()
    stage.run(round(STARTUP_SECONDS / TICK) + 100)
    summary = stage.controller.odometry.summary()
    assert summary.walked_seconds > STARTUP_SECONDS
    assert summary.commanded == pytest.approx(1.0)


def test_the_track_counts_the_energy_of_every_joint() -> None:
    """Half of the joints drive while the others brake."""
    session = Session()
    plant, torque = session.board.body.plant, np.tile([0.2, -0.2], 6)
    plant.tick(lambda *_: torque, lambda *_: None)
    plant.tick(lambda *_: np.abs(torque), lambda *_: None)
    powers = np.abs(torque) * plant.joint_velocity
    assert powers.min() < 0 < powers.max()
    track = TruePath(session.board, lock_step=True)
    track.update()
    assert track.rows[0][-1] == pytest.approx(np.abs(powers).sum() * session.board.ticks * TICK)
