"""The shipped steerable expert follows velocity commands in PyBullet, with the estimator."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.common.deploy_config import ControllerConfig
from deploy.controller.controller import Controller
from deploy.messages.lcm_link import Request
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from tests.deploy.stage import Rig

pytest.importorskip("pybullet")
from deploy.robots.simulated.bullet_solo import BulletSolo  # needs PyBullet

STEERABLE = SHIPPED.parents[1] / "steerable" / "skills.onnx"
STANDING, WALKING, SETTLED, END = 900, 1750, 3250, 5250
"""Ticks: standing up, once it lies at rest, walking, following the command, and the end."""


@pytest.mark.parametrize(("ahead", "turn"), [(0.5, 0.5), (0.8, -0.5)])
def test_it_walks_ahead_and_turns_as_commanded(ahead: float, turn: float) -> None:
    """Tolerances are a tenth and a seventh; slow walks are slightly fast, turns slightly wide."""
    robot, controller = (
        BulletSolo(),
        Controller(Bundle(STEERABLE), 0, ControllerConfig(stand_seconds=0.8)),
    )
    rig = Rig(robot, controller, {STANDING: (Request.STAND, -1), WALKING: (Request.WALK, 0)})
    controller.on_operator_request(Request.NOTHING, 0, velocity=np.array([ahead, 0.0, turn]))
    seen = []
    for _ in range(END):
        rig.tick()
        if rig.ticks > SETTLED:
            seen.append((robot.motion.linear_velocity_b[0], robot.motion.angular_velocity_b[2]))
    robot.close()
    forward, turned = np.mean(seen, axis=0)
    assert controller.fault is None
    assert forward == pytest.approx(ahead, rel=0.10)
    assert turned == pytest.approx(turn, rel=0.15)


def test_it_takes_speeds_ahead_and_turns_and_no_steps_aside() -> None:
    """The contract has the command range of training."""
    contract = Bundle(STEERABLE).contract
    assert contract.command_range == {"low": (0.0, 0.0, -0.8), "high": (1.0, 0.0, 0.8)}
