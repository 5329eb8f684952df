"""Rollouts of episodes: the stored values and their times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from collect.rollout import roll_out
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.tasks import make_task
from solo_doi.tasks.episode import Draws, draw_episodes
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.randomisation import randomisation
from solo_doi.tasks.randomness import GivenEpisodes

LAYOUT, SETUP = LAYOUTS["locomotion"], CONTROL_SETUPS["locomotion"]
COMMAND = np.array([1.0, 0.0, 0.0])
STEPS = 12
Policy = Callable[[int, np.ndarray], np.ndarray]


def draws_of(
    *episodes: int, preset: str = "robust", steps: int = STEPS, standing: bool = False
) -> Draws:
    """Return the draws of episodes by number."""
    seeds = [(1, 0, episode) for episode in episodes]
    return draw_episodes(
        LocomotionTask, seeds, np.full(len(seeds), standing), steps, randomisation(preset)
    )


def rolled(draws: Draws, act: Policy) -> dict[str, np.ndarray]:
    """Return the arrays of a rollout in MuJoCo."""
    with make_simulator("mujoco", SimConfig(num_robots=len(draws.domain), threads=1)) as simulator:
        task = make_task("locomotion", simulator, GivenEpisodes(draws, COMMAND, LAYOUT))
        return roll_out(task, act, len(draws.action))


def still(step: int, observation: np.ndarray) -> np.ndarray:
    """Hold the default pose."""
    return np.zeros((len(observation), 12), dtype=np.float32)


def wriggling(step: int, observation: np.ndarray) -> np.ndarray:
    """Return an action that varies by step and robot, with a little feedback."""
    drift = np.sin(step + np.arange(12)) + 0.1 * observation[:, 6:18]
    return drift.astype(np.float32)


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    """Three episodes of a moving robot."""
    return rolled(draws_of(0, 1, 2), wriggling)


def test_arrays_run_over_episodes_and_steps(arrays: dict[str, np.ndarray]) -> None:
    """A trajectory of T steps gives T rows, each with its successor."""
    assert {array.shape[:2] for array in arrays.values()} == {(3, STEPS)}
    assert arrays["observations"].shape[2:] == arrays["next_observations"].shape[2:] == (48,)
    assert all(array.dtype in (np.float32, bool) for array in arrays.values())


def test_a_successor_is_the_next_observation(arrays: dict[str, np.ndarray]) -> None:
    """The stored observation includes the noise that the policy received."""
    np.testing.assert_array_equal(
        arrays["next_observations"][:, :-1], arrays["observations"][:, 1:]
    )


def test_the_stored_action_is_the_one_that_was_taken(arrays: dict[str, np.ndarray]) -> None:
    """It is the policy's output for the stored observation, and the next previous action."""
    for step in range(STEPS):
        np.testing.assert_array_equal(
            arrays["actions"][:, step], wriggling(step, arrays["observations"][:, step])
        )
    previous = LAYOUT.slices["previous_action"]
    np.testing.assert_array_equal(arrays["next_observations"][..., previous], arrays["actions"])
    assert not arrays["observations"][:, 0, previous].any()


def test_the_command_is_seen(arrays: dict[str, np.ndarray]) -> None:
    """The command is in every observation, without noise."""
    assert (arrays["observations"][..., LAYOUT.slices["command"]] == COMMAND).all()


def test_the_first_observation_is_the_start_with_bias_and_noise() -> None:
    """The reference is built by hand from the draws."""
    draws = draws_of(0, 1)
    inputs = Inputs(
        motion=draws.motion, previous_action=np.zeros((2, 12)), command=np.tile(COMMAND, (2, 1))
    )
    expected = LAYOUT.build(inputs) + draws.noise[0] + draws.bias
    np.testing.assert_allclose(rolled(draws, still)["observations"][:, 0], expected, atol=1e-6)


def test_bias_and_noise_are_all_that_sensors_add() -> None:
    """The policy ignores observations.

    Episodes with perfect sensors differ by bias and noise alone.
    """
    draws = draws_of(0)
    perfect = Draws(
        **{**vars(draws), "noise": np.zeros_like(draws.noise), "bias": np.zeros_like(draws.bias)}
    )
    noisy, clean = (rolled(one, still) for one in (draws, perfect))
    np.testing.assert_array_equal(noisy["infos/base_position"], clean["infos/base_position"])
    added = noisy["next_observations"][0] - clean["next_observations"][0]
    np.testing.assert_allclose(added, draws.noise[1:, 0] + draws.bias, atol=1e-5)


def test_an_episode_alone_is_the_same_as_in_a_batch(arrays: dict[str, np.ndarray]) -> None:
    """The numbers are equal to the last bit, so a stored trajectory can be replayed by itself."""
    alone = rolled(draws_of(1), wriggling)
    for name, array in alone.items():
        np.testing.assert_array_equal(array[0], arrays[name][1], err_msg=name)


def test_rewards_are_of_the_true_velocity() -> None:
    """The reward is exp(-((vx - 1) / 0.3)^2) with the true vx after the step."""
    arrays = rolled(draws_of(0, preset="none"), wriggling)
    velocity = arrays["next_observations"][..., LAYOUT.slices["linear_velocity"]][..., 0]
    np.testing.assert_allclose(
        arrays["rewards"], np.exp(-np.square((velocity - 1.0) / 0.3)), rtol=1e-4, atol=1e-7
    )


def test_a_standing_robot_keeps_its_height_and_does_not_fall() -> None:
    """Pose and height are stored beside the observation, which lacks them."""
    arrays = rolled(draws_of(0, preset="none", standing=True, steps=25), still)
    np.testing.assert_allclose(
        arrays["infos/base_position"][..., 2], SETUP.standing_height, atol=0.05
    )
    np.testing.assert_allclose(
        np.linalg.norm(arrays["infos/base_quaternion"], axis=-1), 1.0, atol=1e-6
    )
    assert not arrays["infos/fallen"].any()
    assert ((arrays["infos/reward_groups"] > 0) & (arrays["infos/reward_groups"] <= 1)).all()


def test_a_fall_is_flagged_and_does_not_end_the_episode() -> None:
    """One robot starts on its back, one on its feet.

    The rows of both continue until the last step.
    """
    draws = draws_of(0, 0, preset="none", standing=True, steps=30)
    draws.motion.base_quaternion[1] = [0.0, 1.0, 0.0, 0.0]
    arrays = rolled(draws, still)
    standing, fallen = arrays["infos/fallen"]
    assert not standing.any()
    assert not fallen[0]
    assert fallen[-1]
    np.testing.assert_array_equal(
        arrays["next_observations"][:, :-1], arrays["observations"][:, 1:]
    )


def test_a_push_moves_the_robot_it_is_meant_for() -> None:
    """The push acts from its drawn step on; the other robot keeps standing."""
    draws = draws_of(0, 0, preset="none", standing=True)
    pushed = Draws(**{**vars(draws), "kick": draws.kick.copy()})
    pushed.kick[4, 1, 1] = 0.5
    before, after = (rolled(one, still)["infos/base_position"] for one in (draws, pushed))
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1, :4], after[1, :4])
    assert after[1, 4, 1] - before[1, 4, 1] == pytest.approx(0.5 * 0.02, rel=0.3)


def test_the_policy_runs_once_per_step_in_order() -> None:
    asked: list[int] = []

    def act(step: int, observation: np.ndarray) -> np.ndarray:
        asked.append(step)
        return still(step, observation)

    rolled(draws_of(0, 1), act)
    assert asked == list(range(STEPS))
