"""The locomotion task: falls, time-outs, and observations at the end of an episode."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from solo_doi.solo12.constants import BODY_NAMES
from solo_doi.solo12.observation import Inputs
from solo_doi.solo12.state import Motion, feet_in_world
from solo_doi.tasks.locomotion import NOT_SHANKS, LocomotionTask

from .locomotion import SLICES, Make, lay_on_its_back, random_actions, still
from .states import SETUP, moment, on_feet, touching

# --- Falls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODY_NAMES)
def test_a_robot_has_fallen_if_anything_but_feet_and_shanks_touches(body: str) -> None:
    """Contacts of base, shoulders and thighs count; a robot can get up from its shanks."""
    assert LocomotionTask.fallen(moment(touching(body))).tolist() == [
        not body.endswith("LOWER_LEG")
    ]


def test_feet_on_the_ground_are_no_fall() -> None:
    """Feet are not among the bodies."""
    assert not LocomotionTask.fallen(moment(on_feet("FL", "FR", "HL", "HR"))).any()


def test_the_indices_of_bodies_that_must_not_touch_follow_from_their_names() -> None:
    """A change of the list would shift all following indices."""
    assert NOT_SHANKS.tolist() == [
        i for i, name in enumerate(BODY_NAMES) if "LOWER_LEG" not in name
    ]


# --- Ends ----------------------------------------------------------------------------------------


def test_a_fall_ends_the_episode(make: Make) -> None:
    """The fallen robot restarts, the others continue."""
    task = make(standing_share=1.0)
    task.age[:] = 10
    lay_on_its_back(task, 1)
    step = task.step(still(task))
    assert step.fallen.tolist() == [False, True, False]
    assert task.age.tolist() == [11, 0, 11]
    assert task.simulator.state().base_position_w[1, 2] == SETUP.standing_height
    assert not task.step(still(task)).fallen.any()


def test_without_early_end_a_fallen_robot_continues(make: Make) -> None:
    """Collected trajectories have the same length; falls are flagged."""
    task = make(early_end=False)
    lay_on_its_back(task, 1)
    for count in (1, 2, 3):
        step = task.step(still(task))
        assert step.fallen.tolist() == [False, True, False]
        assert task.age.tolist() == [count] * 3
        np.testing.assert_array_equal(step.observation, step.final_observation)
    assert task.simulator.state().base_position_w[1, 2] < 0.1


@pytest.mark.parametrize("early_end", [True, False])
def test_episodes_time_out_at_their_length(make: Make, early_end: bool) -> None:
    """The time-outs are seven steps after age 0, and seven steps later."""
    task = make(episode_steps=7, early_end=early_end, standing_share=1.0)
    task.age[:] = 0
    timed_out = [task.step(still(task)).timed_out.all() for _ in range(14)]
    assert [step for step, over in enumerate(timed_out, start=1) if over] == [7, 14]


def test_each_robot_times_out_at_its_own_age(make: Make) -> None:
    """A robot at age 4 of 7 has three steps left."""
    task = make(episode_steps=7, standing_share=1.0)
    task.age[:] = 4, 5, 6
    timed_out = np.array([task.step(still(task)).timed_out for _ in range(3)])
    assert timed_out.argmax(axis=0).tolist() == [2, 1, 0]
    assert timed_out.sum() == 3


def test_where_an_episode_ends_the_final_observation_is_of_the_old_one(make: Make) -> None:
    """Values bootstrap from the last state of a time-out; the policy acts on the new episode."""
    task = make(episode_steps=5)
    task.age[:] = 0, 4, 0
    action = random_actions(3, 1)[0]
    step = task.step(action)
    assert step.timed_out.tolist() == [False, True, False]
    inputs = Inputs(motion=step.state, previous_action=action, command=task.command)
    np.testing.assert_array_equal(step.final_observation, task.layout.build(inputs))
    np.testing.assert_array_equal(step.observation, task.observe())
    np.testing.assert_array_equal(step.observation[[0, 2]], step.final_observation[[0, 2]])
    assert (
        step.observation[1, SLICES["joint_position"]]
        != step.final_observation[1, SLICES["joint_position"]]
    ).all()
    np.testing.assert_array_equal(step.observation[1, SLICES["previous_action"]], 0.0)
    np.testing.assert_array_equal(
        step.final_observation[1, SLICES["previous_action"]], action[1].astype(np.float32)
    )


def test_the_returned_state_is_the_one_before_any_reset(make: Make) -> None:
    """The state is consistent: feet match joints and base, also for a robot that restarts."""
    task = make(episode_steps=5)
    task.age[:] = 0, 4, 0
    state = task.step(random_actions(3, 1)[0]).state
    position_w, velocity_w = feet_in_world(
        Motion(**{field.name: getattr(state, field.name) for field in fields(Motion)})
    )
    np.testing.assert_array_equal(state.foot_position_w, position_w)
    np.testing.assert_array_equal(state.foot_velocity_w, velocity_w)


def test_the_callers_actions_are_left_as_they_are(make: Make) -> None:
    """The previous action becomes zero at the end of an episode, in a copy.

    The caller may write its actions to a dataset.
    """
    task = make(episode_steps=5)
    task.age[:] = 4
    action = random_actions(3, 1)[0]
    given = action.copy()
    task.step(action)
    np.testing.assert_array_equal(action, given)
    task.previous_action[:] = 7.0
    np.testing.assert_array_equal(action, given)
