"""Checks of skills and their bundle: task, evaluation, gains, velocity, key."""

from __future__ import annotations

import numpy as np

from deploy.common.deploy_config import DeployConfig
from deploy.common.robot_constants import LARGEST_GAINS
from deploy.messages.authentication import read_key
from deploy.robots.odri.drivers.motors import largest_gains
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import load_bundle

FLAT_GROUND_TASKS = ("locomotion",)
"""Tasks whose skills need no height map; the robot cannot measure one."""
LEAST_STRICT_PROTOCOL = 3
"""Protocol of the master board that carries the largest gains."""


def check_skills(config: DeployConfig) -> Bundle:
    """Check key, bundle and every skill that will walk; return the bundle.

    Raises:
        SoloError: The message has the reason and the remedy.
    """
    if config.key is not None:
        read_key(config.key)
    bundle = load_bundle(config.bundle, config.trust)
    task = bundle.contract.task
    if task not in FLAT_GROUND_TASKS:
        raise SoloError(
            f"{bundle.path}: made for {task}, which needs a height map; this robot has none."
        )
    for skill in (config.skill, *config.then):
        _check_skill(bundle, skill, config)
    _check_velocity(bundle, config)
    check_gains(bundle, config)
    return bundle


def check_gains(bundle: Bundle, config: DeployConfig) -> None:
    """Refuse gains that the robot process would refuse when the robot stands up."""
    kp = float(np.max(bundle.contract.kp))
    kd = max(float(np.max(bundle.contract.kd)), config.controller.pose_kd)
    largest_kp, largest_kd = LARGEST_GAINS
    limit = "the robot process accepts"
    kind = kind_of(config)
    if kind.has_master_board:
        protocol = LEAST_STRICT_PROTOCOL
        if kind.chooses_protocol and config.driver == "native":
            protocol = config.protocol
        # The protocol of a real board is known only after it is opened, so --check checks it.
        carried_kp, carried_kd = largest_gains(protocol)
        largest_kp = min(largest_kp, carried_kp)
        largest_kd = min(largest_kd, carried_kd)
        limit = f"protocol {protocol} carries"
    if kp > largest_kp or kd > largest_kd:
        raise SoloError(
            f"{bundle.path}: it stands and walks with kp {kp:.2f} and kd {kd:.2f}; {limit} at "
            f"most kp {largest_kp:.2f} and kd {largest_kd:.2f}. Use a policy with lower gains, or "
            "a lower --controller.pose-kd."
        )


def _check_skill(bundle: Bundle, skill: int, config: DeployConfig) -> None:
    """Refuse a skill that does not exist, or that its evaluation rejected."""
    if not 0 <= skill < bundle.num_skills:
        raise SoloError(
            f"Skill {skill} does not exist: {bundle.path} has skills 0 to {bundle.num_skills - 1}."
        )
    if skill in bundle.allowed(force=config.force):
        return
    entry = next(entry for entry in bundle.contract.skills if entry["skill"] == skill)
    success = entry.get("success")
    measured = "" if success is None else f" (success {success:.0%})"
    selected = ", ".join(map(str, sorted(bundle.allowed()))) or "none"
    raise SoloError(
        f"Skill {skill} was rejected by its evaluation{measured}. Selected: {selected}. "
        "Walk with it even so: --force"
    )


def _check_velocity(bundle: Bundle, config: DeployConfig) -> None:
    """Refuse a commanded velocity outside the range of training."""
    if config.velocity is None:
        return
    contract = bundle.contract
    low = contract.command_range["low"]
    high = contract.command_range["high"]
    if low == high:
        raise SoloError(
            f"{bundle.path}: its skills know one command only, {contract.command}. Leave out "
            "--velocity, or use a bundle of a steerable policy."
        )
    for value, least, most in zip(config.velocity, low, high, strict=False):
        if not least <= value <= most:
            raise SoloError(
                f"--velocity {config.velocity}: expected each number between {low} and {high}, "
                "the range of training."
            )
