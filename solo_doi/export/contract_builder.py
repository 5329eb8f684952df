"""Contract of a policy: Solo12's constants for its task, and statistics of its training."""

from __future__ import annotations

from typing import Any

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.provenance import software
from solo_doi.policies.bundle.contract import ROBOT, Contract
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.constants import (
    ACTION_SCALE,
    CONTROL_DT,
    CONTROL_SETUPS,
    JOINT_NAMES,
    MOTOR_LAG,
)
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.randomisation import randomisation

from .velocity_commands import CommandRange, estimated_commands

ENVELOPE = 6.0
"""Half-width of the range of observations in training [standard deviations]."""

ExportedPolicy = SkillPolicy | MaskedPolicy


def make_contract(
    policy: ExportedPolicy,
    task: str,
    made_from: dict[str, Any],
    skills: tuple[dict[str, Any], ...],
    commands: CommandRange | None = None,
    *,
    robot: str = ROBOT,
) -> Contract:
    """Return the contract of a policy that was trained for `task` and `robot`.

    The range of commands is estimated from the statistics of training if it is not given.
    """
    setup = CONTROL_SETUPS[task]
    layout = LAYOUTS[task]
    if policy.observation_size != layout.size:
        raise SoloError(
            f"The policy observes {policy.observation_size} numbers, task {task!r} has "
            f"{layout.size}. Export a policy that was trained for {task!r}."
        )
    mean, std = observation_statistics(policy)
    low = mean - ENVELOPE * std
    high = mean + ENVELOPE * std
    if commands is None:
        columns = layout.slices.get("command", slice(0, 0))
        commands = estimated_commands(mean[columns], std[columns])
    lowest, highest = commands
    return Contract(
        task=task,
        robot=robot,
        joint_names=JOINT_NAMES,
        default_pose=tuple(setup.default_pose.tolist()),
        kp=setup.kp,
        kd=setup.kd,
        torque_limit=TRAINING_LIMITS.torque,
        position_limit=tuple(TRAINING_LIMITS.position.tolist()),
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


def observation_statistics(policy: ExportedPolicy) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the observations of training."""
    if isinstance(policy, SkillPolicy):
        mean = policy.state_mean
        std = policy.state_std
    else:
        mean = policy.mean
        std = policy.std
    if mean.shape != std.shape:
        raise SoloError(
            f"The policy's mean {mean.shape} and deviation {std.shape} do not fit each other."
        )
    return mean, std
