"""What is checked before any process of a deployment starts."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from datetime import date

import numpy as np

from deploy.common.deploy_config import DEFAULT_URL, DeployConfig
from deploy.common.robot_constants import LARGEST_GAINS
from deploy.common.robot_python import check_robot_python
from deploy.common.walk_summary import SHORTEST_WALK
from deploy.messages.authentication import read_key
from deploy.robots.odri.bring_up.calibration import default_path, load
from deploy.robots.odri.drivers.motors import largest_gains
from deploy.robots.registry import WalkSource, kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import load_bundle

from .threshold_checks import check_thresholds

FLAT = ("locomotion",)
"""Tasks for which a robot without a height map is enough."""


def check(config: DeployConfig) -> Bundle:
    """Refuse what cannot go well, with the reason; return the bundle."""
    check_robot(config)
    kind = kind_of(config)
    if kind.has_master_board:
        check_robot_python(config.robot_python, config.driver)
    elif config.robot_python is not None:
        raise SoloError(
            f"--robot-python is for a master board, not for --robot {config.robot}, which needs this one."
        )
    if not re.fullmatch(r"udpm://[\d.]+:\d+(\?\S*)?", config.url):
        raise SoloError(
            f"--url {config.url}: expected udpm://ADDRESS:PORT?ttl=0, such as {DEFAULT_URL}."
        )
    if not 0 < config.seconds < math.inf:
        raise SoloError(f"--seconds {config.seconds:g}: expected a time above 0.")
    check_thresholds(config)
    _check_length(config)
    if config.readonly and config.fast:
        raise SoloError(
            "--readonly needs real time, not --fast: in lock-step the robot waits for commands."
        )
    if config.operator != "script" and config.fast:
        raise SoloError(f"--operator {config.operator} needs real time, not --fast.")
    if config.dead_man and config.operator != "gamepad":
        raise SoloError(
            f"--dead-man is a gamepad's button; --operator {config.operator} has none. Use --operator gamepad."
        )
    if kind.is_real and not sys.stdin.isatty():
        raise SoloError(
            f"--robot real moves only when a person at a terminal agrees, and there is none. Run it in a terminal, "
            f"also with --operator {'keyboard' if config.operator == 'script' else config.operator}: it asks there "
            "before the legs first move."
        )
    return check_skills(config)


def located(config: DeployConfig) -> DeployConfig:
    """Name the calibration of the real robot: the one that `calibrate` wrote, if no other was asked for."""
    if not kind_of(config).calibration_in_file or config.calibration is not None:
        return config
    return replace(config, calibration=default_path())


def check_robot(config: DeployConfig) -> str:
    """Refuse a real robot without a believable calibration; return a note about one that is old."""
    kind = kind_of(config)
    kind.check_settings(config)
    calibration = located(config).calibration
    if not kind.has_master_board or calibration is None:
        return ""
    return load(calibration).check_age(date.today())


def check_skills(config: DeployConfig) -> Bundle:
    """Refuse skills that cannot or must not walk, and a key that is none; return the bundle."""
    if config.key is not None:
        read_key(config.key)
    bundle = load_bundle(config.bundle, config.trust)
    contract = bundle.contract
    if contract.task not in FLAT:
        raise SoloError(
            f"{bundle.path}: made for {contract.task}, which needs a height map; this robot has none."
        )
    for skill in (config.skill, *config.then):
        _check_skill(bundle, skill, config)
    _check_velocity(bundle, config)
    check_gains(bundle, config)
    return bundle


def _check_length(config: DeployConfig) -> None:
    """Refuse a walk that would be called none for being too short."""
    skills = 1 + len(config.then)
    has_walk = kind_of(config).walk_source is not WalkSource.NONE
    judged = has_walk and config.operator == "script" and not config.readonly
    if judged and config.seconds * skills < SHORTEST_WALK:
        raise SoloError(
            f"--seconds {config.seconds:g}: too short to tell whether the robot walks. Expected at least "
            f"{SHORTEST_WALK / skills:.2g} s with each of {skills} skill(s), or --mock, of which nobody asks it."
        )


def _check_skill(bundle: Bundle, skill: int, config: DeployConfig) -> None:
    if not 0 <= skill < bundle.num_skills:
        raise SoloError(
            f"Skill {skill} does not exist: {bundle.path} has skills 0 to {bundle.num_skills - 1}."
        )
    if skill not in bundle.allowed(force=config.force):
        success = next(entry for entry in bundle.contract.skills if entry["skill"] == skill).get(
            "success"
        )
        raise SoloError(
            f"Skill {skill} was rejected by its evaluation{'' if success is None else f' (success {success:.0%})'}. "
            f"Selected: {', '.join(map(str, sorted(bundle.allowed()))) or 'none'}. Walk with it even so: --force"
        )


def check_gains(bundle: Bundle, config: DeployConfig) -> None:
    """Refuse gains that the robot's last line would refuse when it shall stand up."""
    wanted = (
        float(np.max(bundle.contract.kp)),
        max(float(np.max(bundle.contract.kd)), config.controller.pose_kd),
    )
    carried, what = LARGEST_GAINS, "the robot's last line lets through"
    kind = kind_of(config)
    if kind.has_master_board:
        # A real board reports its protocol only when it is opened, as --check does; 3 carries most.
        chosen = kind.chooses_protocol and config.driver == "native"
        protocol = config.protocol if chosen else 3
        largest = largest_gains(protocol)
        carried, what = (
            (min(carried[0], largest[0]), min(carried[1], largest[1])),
            f"protocol {protocol} carries",
        )
    if wanted[0] > carried[0] or wanted[1] > carried[1]:
        raise SoloError(
            f"{bundle.path}: it stands and walks with kp {wanted[0]:.2f} and kd {wanted[1]:.2f}; {what} at most "
            f"kp {carried[0]:.2f} and kd {carried[1]:.2f}. Use a policy with lower gains, or a lower "
            "--controller.pose-kd."
        )


def _check_velocity(bundle: Bundle, config: DeployConfig) -> None:
    contract = bundle.contract
    low, high = contract.command_range["low"], contract.command_range["high"]
    if config.velocity is not None and low == high:
        raise SoloError(
            f"{bundle.path}: its skills know one command only, {contract.command}. Leave out --velocity, or use a "
            "bundle of a steerable policy."
        )
    for value, least, most in zip(config.velocity or (), low, high, strict=False):
        if not least <= value <= most:
            raise SoloError(
                f"--velocity {config.velocity}: expected each number between {low} and {high}, the range of training."
            )
