"""The locomotion task: how episodes start, go on and end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields, replace
from itertools import pairwise
from math import exp
from typing import Any, Protocol

import numpy as np
import pytest

from solo_doi.errors import UnknownNameError
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.constants import BODY_NAMES, CONTROL_DT
from solo_doi.solo12.observation import Inputs
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import Motion, RobotState, feet_in_world, standing
from solo_doi.tasks import rewards
from solo_doi.tasks.locomotion import (
    FEATURE_NAMES,
    FORWARD,
    NOT_SHANKS,
    REWARD_GROUPS,
    LocomotionConfig,
    LocomotionTask,
    StepMemory,
    Transition,
    features,
    group_rewards,
    initial_motion,
)
from solo_doi.tasks.randomisation import PRESETS

from .states import SETUP, on_feet, standing_state, touching

SLICES = LocomotionTask.layout.slices


class Make(Protocol):
    """Makes tasks that are closed after the test."""

    def __call__(self, num_robots: int = 3, seed: int = 0, **config: object) -> LocomotionTask: ...  # noqa: D102


@pytest.fixture
def make() -> Iterator[Make]:
    """Tasks in MuJoCo, without randomisation unless asked for."""
    with ExitStack() as stack:

        def make_one(num_robots: int = 3, seed: int = 0, **config: object) -> LocomotionTask:
            simulator = stack.enter_context(make_simulator("mujoco", SimConfig(num_robots=num_robots)))
            options = LocomotionConfig(**{"randomisation": "none", **config})  # type: ignore[arg-type]
            return LocomotionTask(simulator, options, np.random.default_rng(seed))

        yield make_one


def still(task: LocomotionTask) -> np.ndarray:
    """Actions that hold the default pose."""
    return np.zeros((task.simulator.num_robots, 12))


def lay_on_its_back(task: LocomotionTask, robot: int) -> None:
    """Put a robot where its base touches the ground at once."""
    motion = standing(SETUP, 1)
    motion.base_position_w[0, 2] = 0.02
    motion.base_quaternion[0] = from_rpy(np.pi, 0, 0)
    task.simulator.reset(motion, [robot])


def random_actions(num_robots: int, num_steps: int) -> np.ndarray:
    """Actions strong enough to make robots stumble."""
    return np.random.default_rng(9).normal(0, 1.5, (num_steps, num_robots, 12))


def differences(one: Transition, other: Transition) -> list[str]:
    """Fields, those of the state among them, in which two transitions differ by as much as a bit."""
    pairs: list[tuple[str, Any, Any]] = [("", one, other), ("state.", one.state, other.state)]
    return [
        part + field.name
        for part, a, b in pairs
        for field in fields(a)
        if field.name != "state" and not np.array_equal(getattr(a, field.name), getattr(b, field.name))
    ]


# --- What is measured ----------------------------------------------------------------------------


def test_features_are_base_and_feet_in_the_documented_order() -> None:
    """Vertical velocity, roll and pitch rates of the base, then vertical velocities of the four feet."""
    state = standing_state(
        linear_velocity_b=np.array([[1.0, 2.0, 3.0]]),
        angular_velocity_b=np.array([[4.0, 5.0, 6.0]]),
        foot_velocity_w=np.array([[[0, 0, 7.0], [0, 0, 8.0], [0, 0, 9.0], [0, 0, 10.0]]]),
    )
    assert FEATURE_NAMES == ("vz", "roll_rate", "pitch_rate", "vz_FL", "vz_FR", "vz_HL", "vz_HR")
    np.testing.assert_array_equal(features(state), [[3, 4, 5, 7, 8, 9, 10]])


@pytest.mark.parametrize("body", BODY_NAMES)
def test_a_robot_has_fallen_if_anything_but_feet_and_shanks_touches(body: str) -> None:
    """Base, shoulders and thighs; shanks may touch: the robot can still get up from its knees."""
    assert LocomotionTask.fallen(touching(body)).tolist() == [not body.endswith("LOWER_LEG")]


def test_feet_on_the_ground_are_no_fall() -> None:
    """They are not among the bodies at all."""
    assert not LocomotionTask.fallen(on_feet("FL", "FR", "HL", "HR")).any()


def test_the_indices_of_bodies_that_must_not_touch_follow_from_their_names() -> None:
    """A body more or fewer in the list would shift every index after it."""
    assert NOT_SHANKS.tolist() == [i for i, name in enumerate(BODY_NAMES) if "LOWER_LEG" not in name]


def test_the_observation_is_the_layout_of_the_true_state_when_nothing_is_randomised(make: Make) -> None:
    """Without noise and bias the policy sees what is."""
    task = make()
    action = random_actions(3, 1)[0]
    step = task.step(action)
    inputs = Inputs(motion=step.state, previous_action=action, command=task.command)
    np.testing.assert_array_equal(step.observation, task.layout.build(inputs))
    np.testing.assert_array_equal(step.observation[:, SLICES["previous_action"]], action.astype(np.float32))
    np.testing.assert_array_equal(step.observation[:, SLICES["command"]], np.tile(FORWARD, (3, 1)))


def perfect() -> tuple[RobotState, StepMemory]:
    """A robot that stands as well as one can, and the step before, which was the same."""
    position_w = np.array([[0.0, 0.0, 0.25]])
    foot_position_w = standing_state().foot_position_w
    foot_position_w[..., 2] = 0.04  # where `stand_still` wants them
    state = standing_state(base_position_w=position_w, foot_position_w=foot_position_w)
    return state, StepMemory(np.zeros((1, 12)), foot_position_w, state.foot_contact)


def test_perfect_standing_earns_one_in_both_groups() -> None:
    """Every term is one, and so is their product."""
    state, before = perfect()
    np.testing.assert_allclose(group_rewards(state, before.target, before, np.zeros((1, 3))), [[1.0, 1.0]])


TORQUE, TURN = np.zeros((1, 12)), np.zeros((1, 12))
TORQUE[0, [0, 1]] = 1.5, 2.0  # norm 2.5, half the width
TURN[0, [3, 4]] = 0.3, 0.4  # norm 0.5
ONE_FOOT = np.array([[[0, 0, 10.0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]])


@pytest.mark.parametrize(
    ("change", "target", "regular", "task"),
    [
        ({"torque": TORQUE}, 0 * TURN, exp(-0.25), 1.0),
        ({}, TURN, exp(-0.25), 1.0),
        ({"foot_force_w": ONE_FOOT}, 0 * TURN, exp(-rewards.CHANGE_WEIGHT), 1.0),
        ({"linear_velocity_b": np.array([[0.3, 0, 9.0]])}, 0 * TURN, 1.0, 0.5 * exp(-1) + 0.5 * exp(-0.09)),
        ({"linear_velocity_b": np.array([[0, -0.3, 0]])}, 0 * TURN, 1.0, 0.5 * exp(-1) + 0.5 * exp(-0.09)),
        ({"angular_velocity_b": np.array([[9.0, 9.0, 0.6]])}, 0 * TURN, 1.0, 0.5 * exp(-1) + 0.5 * exp(-0.36)),
        ({"base_position_w": np.array([[0, 0, 0.2]])}, 0 * TURN, 1.0, exp(-0.25)),
        ({"base_quaternion": from_rpy(0.2, 0, 0)[None]}, 0 * TURN, 1.0, exp(-1) / 0.9),
    ],
    ids=["torque", "target", "contact", "vx", "vy", "yaw rate", "height", "attitude"],
)
def test_each_term_is_a_factor_of_its_group(
    change: dict[str, np.ndarray], target: np.ndarray, regular: float, task: float
) -> None:
    """One thing is off at a time: one group has that term's value, the other stays one."""
    state, before = perfect()
    reward = group_rewards(replace(state, **change), target, before, np.zeros((1, 3)))
    np.testing.assert_allclose(reward, [[regular, task]])


def test_the_trot_counts_for_the_task_and_only_on_the_move() -> None:
    """The same stance on all fours: nothing lost when standing is asked, the trot's factor at 1 m/s forward."""
    state, before = perfect()
    state = replace(state, foot_force_w=on_feet("FL", "FR", "HL", "HR").foot_force_w)
    before = replace(before, foot_contact=state.foot_contact)
    standing_reward, moving_reward = (
        group_rewards(
            replace(state, linear_velocity_b=np.array([velocity])), before.target, before, np.array([velocity])
        )
        for velocity in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    )
    np.testing.assert_allclose(standing_reward, [[1.0, 1.0]])
    np.testing.assert_allclose(moving_reward, [[1.0, exp(-rewards.TROT_WEIGHT)]])


def test_rewards_are_in_range_and_ordered_by_group(make: Make) -> None:
    """A robot that moves as commanded earns more for the task than one that stands; jerking costs regularity."""
    task = make()
    assert REWARD_GROUPS == ("regular", "task")
    motion = standing(SETUP, 3)
    motion.linear_velocity_b[0, 0] = 1.0
    task.simulator.reset(motion)
    action = still(task)
    action[2] = 3.0 * np.resize([1, -1], 12)
    reward = task.step(action).reward
    assert reward.shape == (3, 2)
    assert (reward > 0).all()
    assert (reward <= 1).all()
    assert reward[0, 1] > 2 * reward[1, 1]
    assert reward[2, 0] < reward[1, 0] / 2


# --- Commands ------------------------------------------------------------------------------------


def test_every_command_is_straight_ahead_by_default(make: Make) -> None:
    """The forward expert is never asked for anything else."""
    np.testing.assert_array_equal(make(50).command, np.tile([1.0, 0.0, 0.0], (50, 1)))


def test_the_forward_share_of_commands_is_straight_ahead_and_the_rest_fills_its_ranges(make: Make) -> None:
    """400 draws at 30 % are 120, within five standard deviations of 9."""
    ranges: dict[str, Any] = {"command_vx": (-0.5, -0.3), "command_vy": (0.1, 0.4), "command_yaw": (-0.8, 0.8)}
    command = make(400, forward_share=0.3, **ranges).command
    forward = (command == FORWARD).all(axis=1)
    assert abs(forward.sum() - 120) < 45
    for column, (low, high) in enumerate(ranges.values()):
        values, margin = command[~forward, column], 0.05 * (high - low)
        assert low <= values.min() < low + margin
        assert high - margin < values.max() <= high


def test_small_commands_become_zero(make: Make) -> None:
    """A creep is not worth learning: below a norm of 0.1 the robot is asked to stand still."""
    ranges: dict[str, Any] = {"command_vx": (-0.3, 0.3), "command_vy": (-0.1, 0.1), "command_yaw": (0.0, 0.0)}
    norm = np.linalg.norm(make(200, forward_share=0.0, **ranges).command, axis=1)
    assert set(norm[norm < 0.1]) == {0.0}
    assert ((norm >= 0.1) & (norm < 0.2)).any()


def test_commands_spread_from_straight_ahead(make: Make) -> None:
    """A tenth of the way, drawn commands are a tenth as far from straight ahead as at the end."""
    task = make(300, forward_share=0.0, command_vx=(-0.5, 1.0), command_steps=1, early_end=False)
    task.spread = 0.1
    task.step(still(task))
    assert 0.85 <= task.command[:, 0].min() < 0.87
    assert 0.03 < np.abs(task.command[:, 1]).max() <= 0.04


def test_single_commands_keep_one_number(make: Make) -> None:
    """All but one are zero, each is kept as often; the whole command is what is left of the draws."""
    command = make(600, forward_share=0.0, single_share=1.0).command
    kept = command != 0
    assert set(kept.sum(1)) == {0, 1}
    assert (kept.sum(0) > 100).all()


def test_commands_are_drawn_anew_after_the_given_number_of_steps(make: Make) -> None:
    """Steps 1 to 4 keep the first command, the fifth brings another, the tenth a third."""
    task = make(forward_share=0.0, command_steps=5, early_end=False)
    commands = [task.command.copy()]
    for _ in range(11):
        task.step(still(task))
        commands.append(task.command.copy())
    changed = [bool((after != before).any(axis=1).all()) for before, after in pairwise(commands)]
    assert [step for step, new in enumerate(changed, start=1) if new] == [5, 10]
    for step in (1, 4, 6, 9, 11):
        np.testing.assert_array_equal(commands[step], commands[step - 1])


def test_a_new_command_is_seen_at_the_latest_after_one_step(make: Make) -> None:
    """The policy cannot follow what it is not told."""
    task = make(forward_share=0.0, command_steps=3, early_end=False)
    for _ in range(4):
        seen = task.step(still(task)).observation
    np.testing.assert_array_equal(seen[:, SLICES["command"]], task.command.astype(np.float32))


# --- Starts --------------------------------------------------------------------------------------


def test_standing_starts_are_as_the_controller_leaves_the_robot() -> None:
    """At rest, at standing height, level, joints within 0.05 rad of the default pose."""
    motion = initial_motion(500, 1.0, np.random.default_rng(0))
    expected = standing(SETUP, 500)
    for name in ("base_position_w", "base_quaternion", "linear_velocity_b", "angular_velocity_b", "joint_velocity"):
        np.testing.assert_array_equal(getattr(motion, name), getattr(expected, name))
    offset = np.abs(motion.joint_position - SETUP.default_pose)
    assert 0.0495 < offset.max() <= 0.05


def test_other_starts_drop_in_moving() -> None:
    """Up to 0.1 m above the ground, velocities within 0.5 m/s and rad/s, joints within 0.05 + 0.15 rad."""
    motion = initial_motion(500, 0.0, np.random.default_rng(0))
    above = motion.base_position_w[:, 2] - SETUP.standing_height
    assert 0 <= above.min() < 0.001
    assert 0.099 < above.max() <= 0.1
    for velocity in (motion.linear_velocity_b, motion.angular_velocity_b):
        assert velocity.all()
        assert 0.499 < np.abs(velocity).max() <= 0.5
    assert 0.15 < np.abs(motion.joint_position - SETUP.default_pose).max() <= 0.2


def test_the_standing_share_of_episodes_starts_standing() -> None:
    """1000 draws at 25 % are 250, within five standard deviations of 14."""
    motion = initial_motion(1000, 0.25, np.random.default_rng(0))
    at_rest = (motion.linear_velocity_b == 0).all(axis=1)
    assert abs(at_rest.sum() - 250) < 70
    np.testing.assert_array_equal(at_rest, (motion.angular_velocity_b == 0).all(axis=1))
    np.testing.assert_array_equal(at_rest, motion.base_position_w[:, 2] == SETUP.standing_height)


def test_a_standing_robot_stays_up_when_the_policy_does_nothing(make: Make) -> None:
    """The motors hold the default pose from the first step on: half a second later it still stands."""
    task = make(standing_share=1.0)
    for _ in range(25):
        step = task.step(still(task))
    assert not step.fallen.any()
    np.testing.assert_allclose(step.state.base_position_w[:, 2], SETUP.standing_height, atol=0.03)


def test_first_episodes_have_random_ages_where_falls_end_them(make: Make) -> None:
    """Or all robots of a training run would time out in the same step."""
    age = make(100, episode_steps=50).age
    assert 0 <= age.min() < 10
    assert 40 < age.max() < 50
    assert (make(10, early_end=False).age == 0).all()


# --- Ends ----------------------------------------------------------------------------------------


def test_a_fall_ends_the_episode(make: Make) -> None:
    """The robot that fell is placed anew, the others go on."""
    task = make(standing_share=1.0)
    task.age[:] = 10
    lay_on_its_back(task, 1)
    step = task.step(still(task))
    assert step.fallen.tolist() == [False, True, False]
    assert task.age.tolist() == [11, 0, 11]
    assert task.simulator.state().base_position_w[1, 2] == SETUP.standing_height
    assert not task.step(still(task)).fallen.any()


def test_without_early_end_a_fallen_robot_goes_on(make: Make) -> None:
    """Collected trajectories all have the same length; the flag still tells of the fall."""
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
    """Seven steps from age 0, and seven more."""
    task = make(episode_steps=7, early_end=early_end, standing_share=1.0)
    task.age[:] = 0
    timed_out = [task.step(still(task)).timed_out.all() for _ in range(14)]
    assert [step for step, over in enumerate(timed_out, start=1) if over] == [7, 14]


def test_each_robot_times_out_at_its_own_age(make: Make) -> None:
    """One at age 4 of 7 has three steps left."""
    task = make(episode_steps=7, standing_share=1.0)
    task.age[:] = 4, 5, 6
    timed_out = np.array([task.step(still(task)).timed_out for _ in range(3)])
    assert timed_out.argmax(axis=0).tolist() == [2, 1, 0]
    assert timed_out.sum() == 3


def test_where_an_episode_ends_the_final_observation_is_of_the_old_one(make: Make) -> None:
    """Values bootstrap from where a time-out left the robot; the policy acts on the new episode."""
    task = make(episode_steps=5)
    task.age[:] = 0, 4, 0
    action = random_actions(3, 1)[0]
    step = task.step(action)
    assert step.timed_out.tolist() == [False, True, False]
    inputs = Inputs(motion=step.state, previous_action=action, command=task.command)
    np.testing.assert_array_equal(step.final_observation, task.layout.build(inputs))
    np.testing.assert_array_equal(step.observation, task.observe())
    np.testing.assert_array_equal(step.observation[[0, 2]], step.final_observation[[0, 2]])
    assert (step.observation[1, SLICES["joint_position"]] != step.final_observation[1, SLICES["joint_position"]]).all()
    np.testing.assert_array_equal(step.observation[1, SLICES["previous_action"]], 0.0)
    np.testing.assert_array_equal(step.final_observation[1, SLICES["previous_action"]], action[1].astype(np.float32))


def test_the_returned_state_is_the_one_before_any_reset(make: Make) -> None:
    """All of it: feet where the joints and the base have them, in the robot that starts anew too."""
    task = make(episode_steps=5)
    task.age[:] = 0, 4, 0
    state = task.step(random_actions(3, 1)[0]).state
    position_w, velocity_w = feet_in_world(
        Motion(**{field.name: getattr(state, field.name) for field in fields(Motion)})
    )
    np.testing.assert_array_equal(state.foot_position_w, position_w)
    np.testing.assert_array_equal(state.foot_velocity_w, velocity_w)


def test_the_callers_actions_are_left_as_they_are(make: Make) -> None:
    """Also where an episode ends and the previous action becomes zero: they may be on their way into a dataset."""
    task = make(episode_steps=5)
    task.age[:] = 4
    action = random_actions(3, 1)[0]
    given = action.copy()
    task.step(action)
    np.testing.assert_array_equal(action, given)
    task.previous_action[:] = 7.0
    np.testing.assert_array_equal(action, given)


# --- Randomisation -------------------------------------------------------------------------------


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a preset with sensor bias but neither noise nor pushes: what is left is the bias alone."""
    quiet = replace(PRESETS["robust"], observation_noise=False, push_interval=float("inf"))
    monkeypatch.setitem(PRESETS, "biased", quiet)
    return "biased"


def sensor_error(task: LocomotionTask) -> np.ndarray:
    """What the policy sees minus what is."""
    inputs = Inputs(motion=task.simulator.state(), previous_action=task.previous_action, command=task.command)
    return task.observe() - task.layout.build(inputs)


def test_sensor_bias_is_constant_within_an_episode_and_new_in_the_next(make: Make, biased: str) -> None:
    """A badly mounted IMU does not remount itself while the robot walks."""
    task = make(randomisation=biased, episode_steps=6, early_end=False, standing_share=1.0)
    first = sensor_error(task)
    assert first[:, SLICES["gravity"]].all()
    assert not first[:, SLICES["command"]].any()
    for _ in range(5):
        task.step(still(task))
        np.testing.assert_allclose(sensor_error(task), first, atol=1e-5)
    task.step(still(task))
    assert (np.abs(sensor_error(task) - first)[:, SLICES["gravity"]] > 1e-5).all()


def test_noise_is_new_at_every_look_where_the_preset_has_it(make: Make) -> None:
    """Twice the same state gives two observations with `paper`, the same one with `none`."""
    noisy, clean = make(randomisation="paper"), make(randomisation="none")
    assert (noisy.observe() != noisy.observe())[:, SLICES["linear_velocity"]].all()
    np.testing.assert_array_equal(clean.observe(), clean.observe())


def test_a_new_episode_is_in_new_physics_and_the_others_keep_theirs(make: Make) -> None:
    """Friction, mass and lag are drawn per episode."""
    task = make(randomisation="robust", episode_steps=5)
    task.age[:] = 0, 4, 0
    before = task.simulator.domain
    task.step(still(task))
    for name in PRESETS["robust"].domain:
        changed = getattr(task.simulator.domain, name) != getattr(before, name)
        assert changed.tolist() == [False, True, False], name


def test_pushes_come_at_random_with_the_presets_mean_interval_and_size(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten steps between pushes: 50 robots get 100 in 20 steps, within five standard deviations of 9.5."""
    monkeypatch.setitem(PRESETS, "rough", replace(PRESETS["none"], push_interval=10 * CONTROL_DT))
    task = make(50, randomisation="rough", early_end=False)
    kicks: list[tuple[np.ndarray, ...]] = []
    monkeypatch.setattr(task.simulator, "kick", lambda *arguments: kicks.append(arguments))
    for _ in range(20):
        task.step(still(task))
    robots, linear, angular = (np.concatenate(part) for part in zip(*kicks, strict=True))
    assert abs(len(robots) - 100) < 48
    assert len(set(robots)) > 25
    for kick in (linear, angular):
        assert kick.shape == (len(robots), 3)
        assert 0.45 < np.abs(kick).max() <= 0.5


def test_nobody_is_pushed_without_randomisation(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An infinite interval means never."""
    task = make()
    monkeypatch.setattr(task.simulator, "kick", lambda *arguments: pytest.fail("pushed"))
    for _ in range(20):
        task.step(still(task))


def test_an_unknown_preset_is_refused(make: Make) -> None:
    """Before anything is simulated."""
    with pytest.raises(UnknownNameError, match="paper"):
        make(randomisation="papers")


# --- The same again ------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_episodes(make: Make) -> None:
    """Bit for bit over 30 stumbling steps in which episodes end; another seed gives others."""
    options = {"randomisation": "robust", "episode_steps": 20, "forward_share": 0.5, "command_steps": 7}
    one, same, other = (make(4, seed=seed, **options) for seed in (5, 5, 6))
    ended = 0
    for action in random_actions(4, 30):
        step = one.step(action)
        assert not differences(step, same.step(action))
        assert "observation" in differences(step, other.step(action))
        ended += (step.timed_out | step.fallen).sum()
    assert ended >= 4


def test_a_task_continues_from_what_it_saved(make: Make) -> None:
    """Ten steps, save, ten steps; another task that loads the save takes the same ten steps, bit for bit."""
    options = {"randomisation": "robust", "episode_steps": 15, "forward_share": 0.5, "command_steps": 7}
    rng = np.random.default_rng(5)
    simulator = make(4).simulator
    task = LocomotionTask(simulator, LocomotionConfig(**options), rng)  # type: ignore[arg-type]
    before, after = np.split(random_actions(4, 20), 2)
    for action in before:
        task.step(action)
    saved, generator = task.save(), rng.bit_generator.state
    steps = [task.step(action) for action in after]

    other_rng = np.random.default_rng(77)
    other = LocomotionTask(make(4).simulator, LocomotionConfig(**options), other_rng)  # type: ignore[arg-type]
    other.step(before[0])
    other.load(saved)
    other_rng.bit_generator.state = generator
    for action, step in zip(after, steps, strict=True):
        assert not differences(step, other.step(action))


def test_what_was_saved_does_not_change_while_the_task_goes_on(make: Make) -> None:
    """And neither does it when a task that loaded it goes on."""
    task = make(randomisation="robust", episode_steps=6)
    saved = task.save()
    copy = {name: value.copy() for name, value in saved.items()}
    for _ in range(2):
        for action in random_actions(3, 8):
            task.step(action)
        task.load(saved)
    for name, value in copy.items():
        np.testing.assert_array_equal(saved[name], value, err_msg=name)
