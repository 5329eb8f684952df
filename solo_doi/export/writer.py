"""From a run or a checkpoint to a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from solo_doi.common.errors import SoloError
from solo_doi.common.files import replacing
from solo_doi.common.provenance import software
from solo_doi.policies.bundle.contract import ROBOT, Contract
from solo_doi.policies.bundle.reader import CONTRACT, PARITY, TOLERANCE, VECTORS
from solo_doi.policies.bundle.seal import FILE_HASH, NO_HASH, seal
from solo_doi.policies.bundle.vectors import TestVectors
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.constants import (
    ACTION_SCALE,
    CONTROL_DT,
    CONTROL_SETUPS,
    JOINT_NAMES,
    MOTOR_LAG,
)
from solo_doi.solo12.limits import TRAINING
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask
from solo_doi.tasks.randomisation import randomisation

from .graph import build_graph
from .velocity_commands import CommandRange, of_statistics

RANDOM_INPUTS, RECORDED_STEPS, KEPT_VECTORS = 1000, 100, 32
ENVELOPE = 6.0
"""Deviations around the mean that observations of training lie within."""

Policy = SkillPolicy | MaskedPolicy


def write_bundle(
    policy: Policy,
    task: str,
    path: Path,
    made_from: dict[str, Any],
    skills: tuple[dict[str, Any], ...],
    commands: CommandRange | None = None,
) -> float:
    """Write the bundle of a policy that was trained for `task`.

    Returns:
        The largest difference between the actions of graph and policy that was found.
    """
    refuse_damaged(policy)
    contract = make_contract(policy, task, made_from, skills, commands)
    model = build_graph(policy, CONTROL_SETUPS[contract.task])
    vectors, parity = compare(model, policy, contract.task)
    entries = {
        CONTRACT: contract.canonical(),
        VECTORS: vectors.encode(),
        PARITY: json.dumps(parity),
        **readable(contract),
        FILE_HASH: NO_HASH.decode(),
    }
    for name, value in entries.items():
        model.metadata_props.add(key=name, value=value)
    with replacing(path) as partial:
        partial.write_bytes(seal(model.SerializeToString()))
    return float(parity["largest_difference"])


def refuse_damaged(policy: Policy) -> None:
    """Refuse weights that are not numbers."""
    for name, value in vars(policy).items():
        for array in value if isinstance(value, tuple) else (value,):
            if not np.isfinite(array).all():
                raise SoloError(
                    f"The policy's {name} holds numbers that are not finite: it must not be exported."
                )


def make_contract(
    policy: Policy,
    task: str,
    made_from: dict[str, Any],
    skills: tuple[dict[str, Any], ...],
    commands: CommandRange | None = None,
) -> Contract:
    """Return the contract of a policy that was trained for `task`.

    The range of commands is estimated from the statistics of training if it is not given.
    """
    setup = CONTROL_SETUPS[task]
    layout = LAYOUTS[task]
    if policy.observation_size != layout.size:
        raise SoloError(
            f"The policy observes {policy.observation_size} numbers, task {task!r} has "
            f"{layout.size}. Export a policy that was trained for {task!r}."
        )
    mean, std = scale(policy)
    low = mean - ENVELOPE * std
    high = mean + ENVELOPE * std
    if commands is None:
        place = layout.slices.get("command", slice(0, 0))
        commands = of_statistics(mean[place], std[place])
    lowest, highest = commands
    return Contract(
        task=task,
        robot=ROBOT,
        joint_names=JOINT_NAMES,
        default_pose=tuple(setup.default_pose.tolist()),
        kp=setup.kp,
        kd=setup.kd,
        torque_limit=TRAINING.torque,
        position_limit=tuple(TRAINING.position.tolist()),
        action_scale=ACTION_SCALE,
        observation=tuple(
            {"name": term.name, "size": term.size, "unit": term.unit, "frame": term.frame}
            for term in layout.terms
        ),
        history=1,
        quaternion_order="wxyz",
        control_dt=CONTROL_DT,
        motor_lag=(MOTOR_LAG, *randomisation("robust").domain["motor_lag"]),
        command=tuple(((lowest + highest) / 2).tolist()),
        command_range={"low": tuple(lowest.tolist()), "high": tuple(highest.tolist())},
        envelope={"low": tuple(low.tolist()), "high": tuple(high.tolist())},
        skills=skills,
        num_skills=policy.num_skills,
        made_from=made_from | {"exported_with": software()},
    )


def scale(policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the observations of training."""
    mean, std = (
        (policy.state_mean, policy.state_std)
        if isinstance(policy, SkillPolicy)
        else (policy.mean, policy.std)
    )
    if mean.shape != std.shape:
        raise SoloError(
            f"The policy's mean {mean.shape} and deviation {std.shape} do not fit each other."
        )
    return mean, std


def compare(
    model: onnx.ModelProto, policy: Policy, task: str
) -> tuple[TestVectors, dict[str, Any]]:
    """Run graph and policy on recorded and on random observations; keep a few of both as test vectors."""
    recorded, random = recorded_inputs(policy, task), random_inputs(policy)
    observation, skill = (np.concatenate(parts) for parts in zip(recorded, random, strict=True))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    action, _ = session.run(None, {"observation": observation, "skill": skill})
    with np.errstate(
        all="ignore"
    ):  # numbers that grow beyond all bounds make a difference that is refused
        difference = float(np.abs(action - policy.mean_action(observation, skill)).max())
    if not difference <= TOLERANCE:
        raise SoloError(
            f"The graph differs from the policy by {difference:.1e}, allowed is {TOLERANCE:.0e}."
        )
    count = max(KEPT_VECTORS, policy.num_skills)  # every skill
    kept = np.r_[0 : min(count, len(recorded[0])), len(recorded[0]) : len(recorded[0]) + count]
    parity = {
        "recorded": len(recorded[0]),
        "random": len(random[0]),
        "largest_difference": difference,
    }
    return TestVectors(observation[kept], skill[kept], action[kept]), parity


def random_inputs(policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Random observations like those of training, and skills in turn."""
    mean, std = scale(policy)
    noise = np.random.default_rng(0).standard_normal((RANDOM_INPUTS, len(mean)))
    return (mean + 2 * std * noise).astype(np.float32), np.arange(RANDOM_INPUTS) % policy.num_skills


def recorded_inputs(policy: Policy, task: str) -> tuple[np.ndarray, np.ndarray]:
    """What every skill sees when it walks in simulation; nothing for tasks that cannot be simulated."""
    skills = np.arange(policy.num_skills)
    if task != "locomotion":
        return np.zeros((0, policy.observation_size), np.float32), skills[:0]
    walk = LocomotionTask(
        make_simulator("mujoco", SimConfig(num_robots=policy.num_skills)),
        LocomotionConfig(randomisation="paper", early_end=False),
        np.random.default_rng(0),
    )
    seen = [walk.observe()]
    with np.errstate(
        all="ignore"
    ):  # a policy that answers with nonsense is refused when it is compared
        for _ in range(RECORDED_STEPS - 1):
            action = np.clip(np.nan_to_num(policy.mean_action(seen[-1], skills)), -100.0, 100.0)
            seen.append(walk.step(action.astype(np.float64)).observation)
    return np.concatenate(seen), np.tile(skills, RECORDED_STEPS)


def readable(contract: Contract) -> dict[str, str]:
    """The keys that mjlab's tools read, in full precision."""

    def joined(values: tuple[Any, ...]) -> str:
        return ",".join(str(value) for value in values)

    count = len(contract.joint_names)
    return {
        "joint_names": joined(contract.joint_names),
        "joint_stiffness": joined((contract.kp,) * count),
        "joint_damping": joined((contract.kd,) * count),
        "default_joint_pos": joined(contract.default_pose),
        "observation_names": joined(tuple(term["name"] for term in contract.observation)),
        "action_scale": joined((contract.action_scale,) * count),
        "command_names": "twist",
    }
