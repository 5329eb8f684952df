"""Bundles of solo-export equal their policies and have complete contracts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from solo_doi.algorithm.numerics.networks import SkillNetwork
from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.algorithm.training import Training
from solo_doi.common.errors import SoloError
from solo_doi.export.contract_builder import make_contract
from solo_doi.export.export_bundle import export_bundle
from solo_doi.export.writer import write_bundle
from solo_doi.policies.bundle.reader import VECTORS_KEY, Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.policies.bundle.vectors import TestVectors
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_store import RunStore
from solo_doi.solo12.constants import (
    ACTION_SCALE,
    CONTROL_DT,
    CONTROL_SETUPS,
    JOINT_NAMES,
    MOTOR_LAG,
)
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.observation import LAYOUTS
from tests.algorithm.small import small_config, table
from tests.policies.bundles import (
    EVALUATED,
    POLICIES,
    SKILLS,
    masked_policy,
    metadata,
    skill_policy,
    write,
)

ROOT = Path(__file__).parents[2]
EXPERT = ROOT / "collect" / "checkpoints" / "locomotion" / "expert.pt"
STEERABLE = SHIPPED.parents[1] / "steerable"

Policy = SkillPolicy | MaskedPolicy


@pytest.mark.parametrize(
    "changes",
    [
        {"second": np.zeros((8, 7), dtype=np.float32)},
        {"first": np.zeros((7, 48), dtype=np.float32)},
        {"state_std": np.ones(47, dtype=np.float32)},
        {"head": np.zeros((8, 8), dtype=np.float32), "head_bias": np.zeros(8, dtype=np.float32)},
        {"action_mean": np.zeros(11, dtype=np.float32)},
    ],
)
def test_layers_that_do_not_fit_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    """The error is one line, and no file is written."""
    with pytest.raises(SoloError, match="do not fit each other") as error:
        write_bundle(
            replace(skill_policy(), **changes), "locomotion", tmp_path / "skills.onnx", {}, ()
        )
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("squashed", [True, False])
def test_the_file_equals_the_trained_network(squashed: bool, tmp_path: Path) -> None:
    """Network, policy file and bundle agree, without the expert's row and the spread."""
    rng, actions = np.random.default_rng(7), 12
    data = table(
        3 + 2 * rng.standard_normal((60, 48)), rng.uniform(-2, 3, (60, actions)), length=20
    )
    config = small_config(policy=PolicyConfig(hidden=16, squashed=squashed))
    training = Training(config, data, data, RunStore(tmp_path))
    network = SkillNetwork(48, 16, 2 * actions, 1 + SKILLS, torch.Generator().manual_seed(8))
    with torch.no_grad():
        for bias in (network.second_bias, network.head_bias):
            bias.normal_(generator=torch.Generator().manual_seed(9))
    training.policy(network, slice(1, None)).write(tmp_path / "policy.h5")
    write_bundle(
        SkillPolicy.read(tmp_path / "policy.h5"), "locomotion", tmp_path / "skills.onnx", {}, ()
    )
    bundle = Bundle(tmp_path / "skills.onnx")

    observation = (3 + 2 * rng.standard_normal((200, 48))).astype(np.float32)
    state, scale = training.problem.state_scale, training.problem.action_scale
    with torch.no_grad():
        output = network(torch.from_numpy((observation - state.mean) / state.std))[..., :actions]
    output = output.tanh() if squashed else output.clamp(-1, 1)
    assert bundle.num_skills == SKILLS
    for skill in range(SKILLS):
        expected = output[1 + skill].numpy() * scale.std + scale.mean
        np.testing.assert_allclose(
            bundle.mean_action(observation, skill), expected, rtol=0, atol=1e-5
        )


def test_the_file_equals_its_checkpoint(tmp_path: Path) -> None:
    """The policy is the shipped expert."""
    policy = read_policy(EXPERT)
    assert write_bundle(policy, "locomotion", tmp_path / "expert.onnx", {}, ()) <= 1e-5
    observation = (
        policy.mean + policy.std * np.random.default_rng(0).standard_normal((300, 48))
    ).astype(np.float32)
    found = Bundle(tmp_path / "expert.onnx").mean_action(observation, 0)
    np.testing.assert_allclose(found, policy.mean_action(observation, 0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", POLICIES)
def test_a_contract_has_the_constants_of_the_project(name: str, tmp_path: Path) -> None:
    """Every number equals its constant to the last bit."""
    task, build = POLICIES[name]
    policy, setup = build(), CONTROL_SETUPS[task]
    found = Bundle(write(tmp_path / "skills.onnx", policy)).contract
    assert (found.task, found.robot, found.joint_names) == (task, "solo12", JOINT_NAMES)
    assert (found.default_pose, found.kp, found.kd) == (
        tuple(setup.default_pose),
        setup.kp,
        setup.kd,
    )
    assert (found.torque_limit, found.position_limit) == (
        TRAINING_LIMITS.torque,
        tuple(TRAINING_LIMITS.position),
    )
    assert (found.action_scale, found.control_dt, found.motor_lag[0]) == (
        ACTION_SCALE,
        CONTROL_DT,
        MOTOR_LAG,
    )
    assert found.motor_lag[1] < found.motor_lag[0] < found.motor_lag[2]
    terms = [
        (term["name"], term["size"], term["unit"], term["frame"]) for term in found.observation
    ]
    assert terms == [(term.name, term.size, term.unit, term.frame) for term in LAYOUTS[task].terms]
    assert (found.num_skills, found.skills) == (policy.num_skills, EVALUATED)
    assert found.made_from["run"] == "small"
    assert found.made_from["exported_with"]["onnx"] == onnx.__version__


def test_the_envelope_is_six_deviations_around_the_mean() -> None:
    """This holds for both kinds of policy."""
    skills, masked = skill_policy(), masked_policy()
    for policy, mean, std in (
        (skills, skills.state_mean, skills.state_std),
        (masked, masked.mean, masked.std),
    ):
        envelope = make_contract(policy, "locomotion", {}, ()).envelope
        np.testing.assert_allclose(envelope["low"], mean - 6 * std, rtol=1e-6)
        np.testing.assert_allclose(envelope["high"], mean + 6 * std, rtol=1e-6)


def test_mjlab_finds_its_keys_in_full_precision(tmp_path: Path) -> None:
    """Numbers are comma-separated text, equal to the contract to the last bit."""
    path = write(tmp_path / "skills.onnx", masked_policy(size=LAYOUTS["navigation"].size))
    found, contract = metadata(path), Bundle(path).contract

    def numbers(key: str) -> tuple[float, ...]:
        return tuple(float(word) for word in found[key].split(","))

    assert tuple(found["joint_names"].split(",")) == contract.joint_names
    assert numbers("joint_stiffness") == (contract.kp,) * 12
    assert numbers("joint_damping") == (contract.kd,) * 12
    assert numbers("default_joint_pos") == contract.default_pose
    assert found["default_joint_pos"] == ",".join(map(repr, contract.default_pose))
    assert numbers("action_scale") == (contract.action_scale,) * 12
    assert found["observation_names"].split(",") == [term["name"] for term in contract.observation]
    assert found["command_names"] == "twist"


@pytest.mark.usefixtures("same_software")
def test_the_same_policy_gives_the_same_file(tmp_path: Path) -> None:
    """The bytes do not depend on time or path."""
    policy = skill_policy()
    files = []
    for name in ("one", "two"):
        write_bundle(policy, "locomotion", tmp_path / name / "skills.onnx", {"run": "r"}, EVALUATED)
        files.append((tmp_path / name / "skills.onnx").read_bytes())
    assert files[0] == files[1]


def spoiled_policies() -> dict[str, tuple[Policy, str]]:
    """Return policies that must not be exported, with the reason."""
    skills, masked, nan = skill_policy(), masked_policy(), np.float32(np.nan)
    weights = (masked.weights[0], masked.weights[1].copy(), masked.weights[2])
    weights[1][2, 3] = np.inf
    head = skills.head.copy()
    head[3, 4] = nan
    return {
        "a weight": (replace(skills, head=head), "policy's head holds numbers that are not finite"),
        "a mean": (
            replace(skills, state_mean=skills.state_mean * nan),
            "policy's state_mean holds numbers",
        ),
        "an infinite weight": (replace(masked, weights=weights), "policy's weights holds numbers"),
        "a mask": (
            replace(masked, masks=(masked.masks[0] * nan, masked.masks[1])),
            "policy's masks holds numbers",
        ),
        "no size of ours": (skill_policy(size=17), "observes 17 numbers, task 'locomotion' has 48"),
        "another size": (masked_policy(size=47), "observes 47 numbers, task 'locomotion' has 48"),
        "a division by zero": (
            replace(skills, state_std=0 * skills.state_std),
            "differs from the policy by nan",
        ),
        "overflow": (
            replace(skills, second=skills.second * np.float32(1e38)),
            "differs from the policy by",
        ),
        "another robot": (skill_policy(joints=8), "layers do not fit each other and 12 joints"),
    }


@pytest.mark.parametrize("name", spoiled_policies())
def test_a_policy_that_must_not_run_is_not_written(name: str, tmp_path: Path) -> None:
    """The error names the reason, no file is left, and an existing one is kept."""
    policy, reason = spoiled_policies()[name]
    path = tmp_path / "new" / "skills.onnx"
    with pytest.raises(SoloError, match=reason):
        write_bundle(policy, "locomotion", path, {}, ())
    assert list(tmp_path.iterdir()) == []
    before = write(path).read_bytes()
    with pytest.raises(SoloError, match=reason):
        write_bundle(policy, "locomotion", path, {}, ())
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["skills.onnx"]


def test_excess_is_the_distance_from_the_middle_of_training(tmp_path: Path) -> None:
    """The value is 1 at either edge of any number, 0 in the middle, and NaN for NaN."""
    bundle = Bundle(write(tmp_path / "skills.onnx"))
    low, high = (np.array(bundle.contract.envelope[end]) for end in ("low", "high"))
    middle = (low + high) / 2
    assert bundle.excess(middle) == pytest.approx(0.0)
    for place in range(len(middle)):
        for end, factor in ((low, 1.0), (high, 1.0), (high, 2.5)):
            observation = middle.copy()
            observation[place] += factor * (end[place] - middle[place])
            assert bundle.excess(observation) == pytest.approx(factor)
    middle[7] = np.nan
    assert not bundle.excess(middle) <= 1.5


def test_a_number_that_never_changed_has_a_narrow_range(tmp_path: Path) -> None:
    """Rounding errors stay inside the range, and there is no division by zero."""
    policy = masked_policy()
    std = policy.std.copy()
    std[-3:] = 0.0
    bundle = Bundle(write(tmp_path / "skills.onnx", replace(policy, std=std)))
    observation = policy.mean.astype(np.float64)
    observation[-1] += 1e-6
    assert bundle.excess(observation) < 0.01
    observation[-1] += 0.1
    assert bundle.excess(observation) > 50


@pytest.mark.parametrize(
    ("source", "shipped"),
    [
        (SHIPPED.parent, SHIPPED),
        (STEERABLE / "checkpoints" / "model_600.pt", STEERABLE / "skills.onnx"),
    ],
)
def test_a_shipped_bundle_is_that_of_its_policy(
    source: Path, shipped: Path, tmp_path: Path
) -> None:
    """A new export differs only in software versions, hash and rounding."""
    fresh = export_bundle(source, tmp_path / "skills.onnx")
    assert replace(fresh.contract, made_from={}) == replace(Bundle(shipped).contract, made_from={})
    graphs = []
    for path in (shipped, fresh.path):
        model = onnx.load(path)
        texts = {entry.key: entry.value for entry in model.metadata_props}
        del model.metadata_props[:]
        graphs.append(
            (
                model.SerializeToString(),
                texts["joint_names"],
                TestVectors.decode(texts[VECTORS_KEY]),
            )
        )
    assert graphs[0][:2] == graphs[1][:2]
    for old, new in zip(*(vars(vectors).values() for *_, vectors in graphs), strict=True):
        np.testing.assert_allclose(
            old, new, rtol=0, atol=1e-3
        )  # rounding differences between processors grow during a walk
