"""What is checked before any process of a deployment starts."""

from __future__ import annotations

import math
import os
from datetime import date

from solo_doi.errors import SoloError
from solo_doi.policies.bundle import Bundle
from solo_doi.policies.signature import check_signature

from .config import DeployConfig
from .messages.auth import read_key
from .robot_python import check_robot_python
from .robots.odri.calibration import load
from .shipped import SHIPPED
from .walks import SHORTEST

FLAT = ("locomotion",)
"""Tasks for which a robot without a height map is enough."""


def check(config: DeployConfig) -> Bundle:
    """Refuse what cannot go well, with the reason; return the bundle."""
    check_robot(config)
    if config.robot in ("real", "virtual"):
        check_robot_python(config.robot_python, config.driver)
    elif config.robot_python is not None:
        raise SoloError(f"--robot-python is for a master board, not for --robot {config.robot}, which needs this one.")
    if config.robot == "pybullet" and not config.headless and not os.environ.get("DISPLAY"):
        raise SoloError("There is no display for the simulation's window. Add --headless.")
    if not 0 < config.seconds < math.inf:
        raise SoloError(f"--seconds {config.seconds:g}: expected a time above 0.")
    _check_length(config)
    if config.readonly and config.fast:
        raise SoloError("--readonly needs real time, not --fast: in lock-step the robot waits for commands.")
    if config.operator != "script" and config.fast:
        raise SoloError(f"--operator {config.operator} needs real time, not --fast.")
    return check_skills(config)


def check_robot(config: DeployConfig) -> str:
    """Refuse a real robot without a believable calibration; return a note about one that is old."""
    if config.robot == "real" and (config.interface is None or config.calibration is None):
        raise SoloError("--robot real needs --interface, its master board's network card, and --calibration, a file.")
    if config.robot == "real" and config.fast:
        raise SoloError("--fast is for simulated robots: the real one has its own time.")
    if config.robot not in ("real", "virtual") or config.calibration is None:
        return ""
    return load(config.calibration).check_age(date.today())


def check_skills(config: DeployConfig) -> Bundle:
    """Refuse skills that cannot or must not walk, and a key that is none; return the bundle."""
    if config.trust is not None:
        check_signature(config.bundle or SHIPPED, config.trust)
    if config.key is not None:
        read_key(config.key)
    bundle = Bundle(config.bundle or SHIPPED)
    contract = bundle.contract
    if contract.task not in FLAT:
        raise SoloError(f"{bundle.path}: made for {contract.task}, which needs a height map; this robot has none.")
    for skill in (config.skill, *config.then):
        _check_skill(bundle, skill, config)
    _check_velocity(bundle, config)
    return bundle


def _check_length(config: DeployConfig) -> None:
    """Refuse a walk that would be called none for being too short."""
    skills = 1 + len(config.then)
    judged = config.robot in ("pybullet", "virtual") and config.operator == "script" and not config.readonly
    if judged and config.seconds * skills < SHORTEST:
        raise SoloError(
            f"--seconds {config.seconds:g}: too short to tell whether the robot walks. Expected at least "
            f"{SHORTEST / skills:.2g} s with each of {skills} skill(s), or --mock, of which nobody asks it."
        )


def _check_skill(bundle: Bundle, skill: int, config: DeployConfig) -> None:
    if not 0 <= skill < bundle.num_skills:
        raise SoloError(f"Skill {skill} does not exist: {bundle.path} has skills 0 to {bundle.num_skills - 1}.")
    if skill not in bundle.allowed(force=config.force):
        success = next(entry for entry in bundle.contract.skills if entry["skill"] == skill).get("success")
        raise SoloError(
            f"Skill {skill} was rejected by its evaluation{'' if success is None else f' (success {success:.0%})'}. "
            f"Selected: {', '.join(map(str, sorted(bundle.allowed()))) or 'none'}. Walk with it even so: --force"
        )


def _check_velocity(bundle: Bundle, config: DeployConfig) -> None:
    contract = bundle.contract
    low, high = contract.command_range["low"], contract.command_range["high"]
    if config.velocity is not None and low == high:
        raise SoloError(
            f"{bundle.path}: its skills know one command only, {contract.command}. Leave --velocity, or use a bundle "
            "of a steerable policy."
        )
    for value, least, most in zip(config.velocity or (), low, high, strict=False):
        if not least <= value <= most:
            raise SoloError(f"--velocity {config.velocity}: trained were {low} to {high}.")
