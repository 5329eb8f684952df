"""The five shipped skills walk in PyBullet with the estimator in the loop, in one process."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Fault
from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.messages.lcm_link import Request
from solo_doi.solo12.rotations import projected_gravity
from tests.deploy.stage import MS, Rig, shipped

pytest.importorskip("pybullet")
from deploy.robots.simulated.bullet_solo import BulletSolo  # needs PyBullet
from deploy.robots.simulated.ground_truth import GroundTruth

SECONDS = 4.0
"""Duration of each walk, limited by CI; `solo-deploy` walks for 10 s."""
STANDING, WALKING = 700, 1550
"""Ticks of the requests to stand up and to walk."""
BRISK = ControllerConfig(stand_seconds=0.8)


@dataclass
class Walk:
    """Result of a walk."""

    velocity: float
    falls: int
    error: float
    """Root mean square of the estimated velocity's error, all three axes together [m/s]."""
    tilt_error: float
    """Largest error of the estimated tilt [rad]."""
    delays_ns: set[int]
    faults: list[Fault | None]
    state: ControllerState


def walk(skill: int, seconds: float = SECONDS, *, truth: bool = False) -> Walk:
    """Stand up and walk; with `truth` the policy gets the true state instead of the estimate."""
    robot, controller = BulletSolo(), Controller(shipped(), skill, BRISK)
    rig = Rig(robot, controller, {STANDING: (Request.STAND, -1), WALKING: (Request.WALK, skill)})
    errors: list[np.ndarray] = []
    tilts: list[float] = []

    def compare() -> None:
        estimate, motion = controller.estimate, robot.motion
        assert estimate is not None
        gravity = projected_gravity(motion.base_quaternion)
        if rig.ticks >= WALKING + 1000:
            errors.append(estimate.velocity_b - motion.linear_velocity_b)
            tilts.append(float(np.arccos(np.clip(gravity @ estimate.gravity_b, -1, 1))))
        if truth:
            controller.estimate = replace(
                estimate, velocity_b=motion.linear_velocity_b, gravity_b=gravity
            )

    rig.before_tick = compare
    witness = GroundTruth(robot)
    try:
        for _ in range(WALKING + round(seconds / TICK)):
            rig.tick()
            witness.update(rig.process.skill)
    finally:
        robot.close()
    summary = witness.summary()
    return Walk(
        velocity=summary.velocity,
        falls=summary.falls,
        error=float(np.sqrt((np.array(errors) ** 2).sum(axis=1).mean())),
        tilt_error=max(tilts),
        delays_ns={*rig.delay_ns[WALKING + 100 :]},
        faults=[controller.fault, rig.process.gate.fault],
        state=controller.state,
    )


@pytest.mark.parametrize("skill", range(5))
def test_every_shipped_skill_walks_with_the_estimator(skill: int) -> None:
    """Each skill reaches 80 % of 1 m/s at the delay of training, without a fall or a fault.

    The velocity error is at most 0.1 m/s. With the true velocity the robot is hardly faster.
    """
    found = walk(skill)
    assert found.faults == [None, None]
    assert (found.state, found.falls) == (ControllerState.WALK, 0)
    assert found.velocity >= 0.8
    assert found.error <= 0.1
    assert found.tilt_error < 0.1
    assert found.delays_ns == {15 * MS}
    true = walk(skill, 2.5, truth=True)
    assert true.falls == 0
    assert found.velocity >= 0.95 * true.velocity
