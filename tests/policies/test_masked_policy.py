"""The policy in numpy, against hand-computed numbers and its own recipe."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.policies.masked_policy import MaskedPolicy, elu

from .checkpoints import small_policy


def one_number_policy() -> MaskedPolicy:
    """Return a policy that can be computed by hand: one input, unit and action, two skills."""

    def array(value: object) -> np.ndarray:
        return np.array(value, dtype=np.float32)

    return MaskedPolicy(
        mean=array([1.0]),
        std=array([0.49]),
        weights=(array([[2.0]]), array([[3.0]]), array([[5.0]])),
        biases=(array([1.0]), array([-4.0]), array([0.5])),
        masks=(array([[1.0], [0.5]]), array([[1.0], [0.25]])),
        log_std=array([np.log(2.0)]),
    )


def test_elu_is_the_identity_above_zero_and_exponential_below() -> None:
    """The value is exp(-1) - 1 at -1, and -1 far below; there is no overflow far above."""
    np.testing.assert_allclose(
        elu(np.array([2.0, 0.0, -1.0, -1000.0, 1000.0])), [2, 0, exp(-1) - 1, -1, 1000]
    )


def test_mean_action_by_hand() -> None:
    """Input (2 - 1) / (0.49 + 0.01) = 2; skill 0: 5, 11, 55.5; skill 1: 5 / 2, 3.5 / 4, 4.875."""
    policy = one_number_policy()
    observation = np.array([2.0], dtype=np.float32)
    np.testing.assert_allclose(
        policy.mean_action(observation, 0), [5 * (3 * 5 - 4) + 0.5], rtol=1e-6
    )
    np.testing.assert_allclose(
        policy.mean_action(observation, 1), [5 * (3 * 2.5 - 4) / 4 + 0.5], rtol=1e-6
    )


def test_negative_activations_pass_through_elu() -> None:
    """Input 0: x = -2, unit one elu(-3), unit two elu(3 elu(-3) - 4)."""
    one = exp(-3) - 1
    two = exp(3 * one - 4) - 1
    action = one_number_policy().mean_action(np.array([0.0], dtype=np.float32), 0)
    np.testing.assert_allclose(action, [5 * two + 0.5], rtol=1e-6)


def test_sampled_action_is_the_mean_plus_noise_times_the_deviation() -> None:
    """Deviation 2, noise -1.5: three below the mean; no squashing, no clipping."""
    policy, observation = one_number_policy(), np.array([2.0], dtype=np.float32)
    sample = policy.sample_action(observation, 0, np.array([-1.5], dtype=np.float32))
    np.testing.assert_allclose(sample, policy.mean_action(observation, 0) - 3.0, rtol=1e-6)


def test_every_robot_may_have_its_own_skill() -> None:
    """An array of skills gives the same actions as single skills."""
    policy = small_policy()
    observation = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    skills = np.array([2, 0, 1, 2])
    expected = [
        policy.mean_action(row, int(skill)) for row, skill in zip(observation, skills, strict=True)
    ]
    np.testing.assert_allclose(
        policy.mean_action(observation, skills), expected, rtol=1e-5, atol=1e-6
    )


def test_actions_are_single_precision() -> None:
    """Training and the robot use single precision as well."""
    policy, observation = small_policy(), np.zeros((2, 5), dtype=np.float32)
    assert policy.mean_action(observation, 0).dtype == np.float32
    doubles = np.zeros((2, 12))  # as numpy draws them
    assert policy.sample_action(observation, 0, doubles).dtype == np.float32  # type: ignore[arg-type]


def test_a_constant_input_does_not_divide_by_zero() -> None:
    """A deviation of zero leaves the floor of 0.01."""
    policy = replace(one_number_policy(), std=np.zeros(1, dtype=np.float32))
    assert np.isfinite(policy.mean_action(np.array([1.5], dtype=np.float32), 0)).all()


@pytest.mark.parametrize("size", [0, 4, 6, 171])
def test_an_observation_of_another_task_is_refused(size: int) -> None:
    """The error contains both sizes."""
    with pytest.raises(SoloError, match=f"observations of 5 numbers, found {size}"):
        small_policy().mean_action(np.zeros(size, dtype=np.float32), 0)


@pytest.mark.parametrize("skill", [-1, 3, np.array([0, 3]), np.array([-1, 0])])
def test_a_skill_that_does_not_exist_is_refused(skill: int | np.ndarray) -> None:
    """Negative skills are refused as well, which an index would count from the end."""
    with pytest.raises(SoloError, match="skills 0 to 2"):
        small_policy().mean_action(np.zeros((2, 5), dtype=np.float32), skill)
