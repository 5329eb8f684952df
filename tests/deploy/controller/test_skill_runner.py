"""An active skill: its own targets, and a hand-over to another skill without a jump."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deploy.controller.skill_runner import BLEND_STEPS, REHEARSAL_STEPS, SkillRunner, rehearse
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.solo12.state import Motion, standing
from tests.deploy.stage import shipped

SETUP, LAYOUT = CONTROL_SETUPS["locomotion"], LAYOUTS["locomotion"]
COMMAND = np.array([1.0, 0.0, 0.0])
MOTION: Motion = standing(SETUP, 1)[0]


class Constant:
    """A bundle of skills with constant outputs."""

    contract = shipped().contract
    num_skills = 5

    def __init__(self) -> None:
        """Start with an empty record of skills."""
        self.asked: list[int] = []
        self.seen: list[np.ndarray] = []

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared number of the skill as action, and a tenth of it as target."""
        self.asked.append(skill)
        self.seen.append(observation)
        actions = np.full(NUM_JOINTS, float(skill) ** 2, np.float32)
        return actions, actions / 10

    def excess(self, observation: np.ndarray) -> float:
        """Return a constant value inside the envelope."""
        return 0.25


def walker(skill: int = 0) -> tuple[SkillRunner, Constant]:
    """Return a runner of constant skills."""
    bundle = Constant()
    return SkillRunner(bundle, skill), bundle  # type: ignore[arg-type]


def steps(walker: SkillRunner, count: int) -> np.ndarray:
    """Return the first joint's target for some steps."""
    return np.array([walker.step(MOTION, COMMAND)[0] for _ in range(count)])


@pytest.mark.parametrize("skill", range(5))
def test_targets_are_those_of_the_bundle(skill: int) -> None:
    """Targets follow from the robot's state.

    The previous action is that of the last step, at first zero.
    """
    bundle, action = shipped(), np.zeros(NUM_JOINTS)
    one = SkillRunner(bundle, skill)
    for pitch in (0.0, 0.1, 0.2):
        motion = replace(MOTION, joint_position=MOTION.joint_position + pitch)
        observation = LAYOUT.build(Inputs(motion=motion, previous_action=action, command=COMMAND))
        actions, targets = bundle.run(observation[None], np.array([skill]))
        found = one.step(motion, COMMAND)
        np.testing.assert_array_equal(found, targets[0])
        assert found.dtype == np.float64
        assert one.excess == bundle.excess(observation)
        action = actions[0].astype(np.float64)


def test_only_one_skill_runs_without_a_switch() -> None:
    """A second inference costs time."""
    one, bundle = walker(3)
    steps(one, 3)
    one.switch(3)
    steps(one, 2)
    assert bundle.asked == [3] * 5


def test_a_hand_over_is_even_and_ends_at_the_new_skill() -> None:
    """Fifteen equal steps lead exactly to the targets of the new skill."""
    one, bundle = walker(1)
    steps(one, 2)
    one.switch(3)
    assert one.skill == 3
    found = steps(one, BLEND_STEPS + 2)
    np.testing.assert_allclose(np.diff([0.1, *found[:BLEND_STEPS]]), 0.8 / BLEND_STEPS, atol=1e-7)
    new = np.float64(np.float32(9.0) / 10)
    assert (found[BLEND_STEPS - 1 :] == new).all()
    assert bundle.asked[2:] == [1, 3] * (BLEND_STEPS - 1) + [3] * 3


def test_the_policy_sees_the_action_that_was_blended() -> None:
    """The previous action is the blended one, because it was carried out."""
    one, bundle = walker(0)
    steps(one, 1)
    one.switch(2)
    steps(one, 4)
    place = LAYOUT.slices["previous_action"]
    seen = [observation[place][0] for observation in bundle.seen]
    np.testing.assert_allclose(
        seen, [0, *np.repeat([0, 4 / 15, 8 / 15, 12 / 15], 2)], atol=1e-6
    )  # both skills get it


@pytest.mark.parametrize("after", range(BLEND_STEPS + 1))
@pytest.mark.parametrize("then", [0, 2, 4])
def test_another_switch_during_a_hand_over_does_not_jump(after: int, then: int) -> None:
    """A third skill, or the first again, may be requested during a hand-over."""
    one, _ = walker(0)
    steps(one, 1)
    one.switch(3)
    before = steps(one, after)
    one.switch(then)
    found = steps(one, BLEND_STEPS)
    jumps = np.abs(np.diff([0.0, *before, *found]))
    assert jumps.max() <= 1.6 / BLEND_STEPS + 1e-6  # the two most distant skills differ by 1.6
    assert found[-1] == pytest.approx(then**2 / 10)


def test_a_repeated_request_does_not_change_the_hand_over() -> None:
    """A key that is held down must not prolong the hand-over."""
    one, _ = walker(0)
    one.switch(4)
    found = []
    for _ in range(BLEND_STEPS):
        one.switch(4)
        found.append(steps(one, 1)[0])
    np.testing.assert_allclose(found, 1.6 * np.arange(1, BLEND_STEPS + 1) / BLEND_STEPS, atol=1e-6)


def test_real_skills_hand_over_without_a_jump() -> None:
    """On a standing robot, each step moves a fifteenth of the way, plus the skills' own motion."""
    bundle = shipped()
    for old, new in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0)):
        one = SkillRunner(bundle, old)
        targets = [one.step(MOTION, COMMAND) for _ in range(10)]
        one.switch(new)
        targets += [one.step(MOTION, COMMAND) for _ in range(BLEND_STEPS + 10)]
        jumps = np.abs(np.diff(targets, axis=0)).max(axis=1)
        assert jumps[5 : 10 + BLEND_STEPS].max() < 0.3


def test_the_stand_in_is_like_a_bundle() -> None:
    """The replaced methods exist in `Bundle`."""
    stand_in: Any = Constant()
    assert all(
        hasattr(Bundle, name) and hasattr(stand_in, name)
        for name in ("run_one", "excess", "num_skills")
    )


def test_a_rehearsal_is_a_walk_of_a_robot_that_stands() -> None:
    """The observation is that of standing; the next runner starts from the beginning."""
    bundle = Constant()
    rehearse(bundle)  # type: ignore[arg-type]
    assert bundle.asked == [0] * REHEARSAL_STEPS
    seen = LAYOUT.build(
        Inputs(motion=MOTION, previous_action=np.zeros(NUM_JOINTS), command=COMMAND)
    )
    np.testing.assert_array_equal(bundle.seen[0], seen)
