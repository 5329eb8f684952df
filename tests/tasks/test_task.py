"""The task step, with random numbers that are drawn live or given beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.common.errors import UnknownNameError
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.tasks import make_task, task_type
from solo_doi.tasks.episode import Draws, draw_episodes
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask
from solo_doi.tasks.randomisation import PRESETS
from solo_doi.tasks.randomness import GivenEpisodes

from .locomotion import Make, random_actions, still
from .states import moment

COMMAND = np.array([0.5, 0.0, 0.2])
STEPS = 8


def draws(preset: str = "robust") -> Draws:
    """Draw two episodes, the second from the standing pose."""
    seeds = [(1, 0, 0), (1, 0, 1)]
    standing = np.array([False, True])
    return draw_episodes(LocomotionTask, seeds, standing, STEPS, PRESETS[preset])


def given(drawn: Draws) -> GivenEpisodes:
    """Return random numbers for a task that repeats drawn episodes."""
    return GivenEpisodes(drawn, COMMAND, LocomotionTask.layout)


def test_an_unknown_task_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownNameError, match="locomotion"):
        task_type("locomotive")


def test_given_episodes_start_as_drawn() -> None:
    """Domain, pose, sensor error and command are those of the draws."""
    drawn = draws()
    with make_simulator("mujoco", SimConfig(num_robots=2)) as simulator:
        task = make_task("locomotion", simulator, given(drawn))
        np.testing.assert_array_equal(simulator.domain.friction, drawn.domain.friction)
        np.testing.assert_allclose(
            simulator.state().joint_position, drawn.motion.joint_position, atol=1e-12
        )
        np.testing.assert_array_equal(task.bias, drawn.bias)
        np.testing.assert_array_equal(task.command, np.tile(COMMAND, (2, 1)))
        assert not task.age.any()


def test_given_episodes_never_restart() -> None:
    """After a fall or a time-out, flags are set, but observations continue."""
    config = LocomotionConfig(episode_steps=3, command_steps=2)
    with make_simulator("mujoco", SimConfig(num_robots=2)) as simulator:
        task = make_task("locomotion", simulator, given(draws()), config)
        for number, action in enumerate(random_actions(2, STEPS), start=1):
            step = task.step(action)
            assert step.observation is step.final_observation
            assert step.timed_out.all() == (number >= 3)
            assert (task.age == number).all()
            assert (task.command == COMMAND).all()


def test_live_and_given_steps_agree_without_randomness(make: Make) -> None:
    """From the same pose, with the same command and actions, both give the same numbers."""
    drawn = draws("none")
    options = LocomotionConfig(
        randomisation="none",
        forward_share=0.0,
        command_vx=(0.5, 0.5),
        command_vy=(0.0, 0.0),
        command_yaw=(0.2, 0.2),
        early_end=False,
    )
    live = LocomotionTask(make(2).simulator, options, np.random.default_rng(0))
    with make_simulator("mujoco", SimConfig(num_robots=2)) as simulator:
        task = make_task("locomotion", simulator, given(drawn))
        live.simulator.reset(drawn.motion, target=live.target)
        live.foot_position_w = live.simulator.state().foot_position_w
        for action in random_actions(2, STEPS):
            one = live.step(action)
            other = task.step(action)
            np.testing.assert_array_equal(one.observation, other.observation)
            np.testing.assert_array_equal(one.reward, other.reward)
            np.testing.assert_array_equal(one.score, other.score)


def test_the_score_is_for_the_command_that_was_followed(make: Make) -> None:
    """A command drawn at the end of a step counts from the next step on."""
    task = make(4, forward_share=0.0, command_steps=1, early_end=False)
    before = task.command.copy()
    step = task.step(still(task))
    assert (task.command != before).any()
    np.testing.assert_array_equal(step.score, task.score(moment(step.state, before)))
