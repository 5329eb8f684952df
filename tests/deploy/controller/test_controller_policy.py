"""Policies with invalid outputs or unknown observations, and invalid velocity commands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Mode, Request
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.limits import TRAINING_LIMITS
from tests.deploy.stage import Counting, Stage, shipped

from .test_controller_faults import damped


class Odd(Counting):
    """Skills with targets and envelope that a test sets."""

    target: float | np.ndarray = float("nan")
    outside = 0.0

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same target for every joint."""
        _, targets = super().run_one(observation, skill)
        return np.zeros_like(targets), np.full_like(targets, self.target)

    def excess(self, observation: np.ndarray) -> float:
        """Return the distance outside that the test set."""
        return self.outside


@pytest.mark.parametrize(
    ("target", "outside", "cause"),
    [
        (np.nan, 0.0, Cause.POLICY_NOT_FINITE),
        (np.inf, 0.0, Cause.POLICY_NOT_FINITE),
        (2.5, 0.0, Cause.TARGET_RATE),
    ],
)
def test_an_odd_answer_is_never_commanded(target: float, outside: float, cause: Cause) -> None:
    """The tick that detects it is already damped."""
    bundle: Any = Odd(shipped())
    bundle.target, bundle.outside = target, outside
    stage = Stage(bundle)
    stage.ready()
    stage.tick(Request.WALK)
    damped(stage, cause)


def test_targets_beyond_the_limits_of_training_are_clipped() -> None:
    """The graph of a bundle may omit the clipping; the robot would refuse such targets."""
    bundle: Any = Odd(shipped())
    bundle.target = np.array(shipped().contract.default_pose)
    bundle.target[0], bundle.target[3] = 0.9, -0.9
    stage = Stage(bundle)
    stage.ready()
    found = stage.tick(Request.WALK).position
    assert stage.state is ControllerState.WALK
    assert (found[0], found[3]) == (TRAINING_LIMITS.position[0], -TRAINING_LIMITS.position[3])


def test_a_policy_outside_its_envelope_is_stopped_after_a_tenth_of_a_second() -> None:
    """The fault comes at the first policy step after that time."""
    bundle: Any = Odd(shipped())
    bundle.target, bundle.outside = 0.0, 1.75
    stage = Stage(bundle)
    stage.ready()
    stage.until(ControllerState.FAULT, Request.WALK)
    assert damped(stage, Cause.OUT_OF_ENVELOPE).value == 1.75
    walked = sum(command.mode == Mode.POLICY for command in stage.commands)
    assert walked in (100, 120)


def test_a_velocity_that_is_not_a_number_is_not_taken() -> None:
    """A broken joystick must not make the robot fall."""
    stage = Stage()
    stage.walking()
    for bad in (np.nan, np.inf):
        stage.tick(velocity=np.array([bad, 0.0, 0.0]))
    stage.run(200)
    assert stage.state is ControllerState.WALK


def test_the_stand_in_is_like_a_bundle() -> None:
    """The replaced methods exist in `Bundle`."""
    assert all(hasattr(Bundle, name) for name in ("run", "excess"))
