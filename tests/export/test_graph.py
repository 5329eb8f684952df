"""The exported graph equals its policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from solo_doi.export.graph import build_graph
from solo_doi.policies.masked_policy import NORMALISER_FLOOR, MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import (
    CONTROL_SETUPS,
)
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import (
    POLICIES,
    SKILLS,
    extremes,
    masked_policy,
    skill_policy,
)

Policy = SkillPolicy | MaskedPolicy


def session_of(policy: Policy, task: str) -> onnxruntime.InferenceSession:
    """Return a session with the graph of a policy."""
    model = build_graph(policy, CONTROL_SETUPS[task]).SerializeToString()
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def run(
    session: onnxruntime.InferenceSession, observation: np.ndarray, skill: np.ndarray
) -> list[np.ndarray]:
    """Return actions and joint targets."""
    return session.run(["action", "joint_target"], {"observation": observation, "skill": skill})


def tolerance(policy: Policy, observation: np.ndarray) -> np.ndarray:
    """Return the tolerance: 1e-5, and proportionally more for rows with large scaled numbers."""
    if isinstance(policy, SkillPolicy):
        scaled = (observation - policy.state_mean) / policy.state_std
    else:
        scaled = (observation - policy.mean) / (policy.std + NORMALISER_FLOOR)
    return 1e-5 * np.maximum(1, np.abs(scaled).max(axis=1, keepdims=True) / 10)


@pytest.mark.parametrize("name", POLICIES)
def test_the_graph_equals_the_policy(name: str) -> None:
    """All skills agree for usual and extreme observations, singly and in batches."""
    task, build = POLICIES[name]
    policy = build()
    session, observation = session_of(policy, task), extremes(policy)
    limit = tolerance(policy, observation)
    for skill in range(policy.num_skills):
        expected = policy.mean_action(observation, skill)
        found, _ = run(session, observation, np.full(len(observation), skill))
        assert (found.dtype, found.shape) == (np.dtype(np.float32), expected.shape)
        assert (np.abs(found - expected) <= limit).all()
        for row in range(0, len(observation), 25):
            single, _ = run(session, observation[[row]], np.array([skill]))
            assert (np.abs(single - expected[row]) <= limit[row]).all()


@pytest.mark.parametrize("name", POLICIES)
def test_every_row_may_have_its_own_skill(name: str) -> None:
    """Skills are in any order; usual observations agree to 1e-5."""
    task, build = POLICIES[name]
    policy, rng = build(), np.random.default_rng(6)
    observation = (2 * rng.standard_normal((500, policy.observation_size))).astype(np.float32)
    skill = rng.integers(0, policy.num_skills, 500)
    found, _ = run(session_of(policy, task), observation, skill)
    np.testing.assert_allclose(found, policy.mean_action(observation, skill), rtol=0, atol=1e-5)
    if policy.num_skills > 1:
        other, _ = run(session_of(policy, task), observation, (skill + 1) % policy.num_skills)
        assert (np.abs(found - other).max(axis=1) > 1e-3).mean() > 0.9


@pytest.mark.parametrize("squashed", [True, False])
def test_outputs_are_kept_in_range_as_the_policy_keeps_them(squashed: bool) -> None:
    """Extreme observations reach the ends of the range, for clipping and for tanh."""
    policy = skill_policy(squashed=squashed)
    found, _ = run(
        session_of(policy, "locomotion"),
        extremes(policy),
        np.zeros(len(extremes(policy)), dtype=np.int64),
    )
    scaled = (found - policy.action_mean) / policy.action_std
    assert np.abs(scaled).max() <= 1 + 1e-6
    assert scaled.max() > 0.999
    assert scaled.min() < -0.999
    assert (np.abs(scaled) < 0.5).any()


@pytest.mark.parametrize("task", CONTROL_SETUPS)
def test_joint_targets_are_those_of_the_project(task: str) -> None:
    """Targets are relative to the pose of the task; large actions are clamped at both ends."""
    policy = skill_policy(size=LAYOUTS[task].size, reach=12.0)
    observation = extremes(policy)
    for skill in range(SKILLS):
        action, target = run(
            session_of(policy, task), observation, np.full(len(observation), skill)
        )
        expected = joint_target(action.astype(np.float64), CONTROL_SETUPS[task])
        np.testing.assert_allclose(target, expected, rtol=0, atol=1e-6)
        limit = TRAINING_LIMITS.position.astype(np.float32)
        assert (np.abs(target) <= limit).all()
        assert (target == limit).any()
        assert (target == -limit).any()
        assert (np.abs(target) < limit).any()


def test_zero_action_is_the_default_pose() -> None:
    """Both tasks are tested, because their hips differ."""
    for task, setup in CONTROL_SETUPS.items():
        policy = skill_policy(size=LAYOUTS[task].size)
        still = replace(
            policy, action_std=0 * policy.action_std, action_mean=0 * policy.action_mean
        )
        _, target = run(session_of(still, task), extremes(still)[:1], np.array([0]))
        np.testing.assert_allclose(target[0], setup.default_pose, rtol=0, atol=1e-7)


def test_a_graph_is_made_of_operations_of_an_old_standard() -> None:
    """The robot's computer may have an old onnxruntime."""
    for policy in (skill_policy(), skill_policy(squashed=True), masked_policy()):
        model = build_graph(policy, CONTROL_SETUPS["locomotion"])
        assert (
            [(entry.domain, entry.version) for entry in model.opset_import],
            model.ir_version,
        ) == ([("", 17)], 8)
