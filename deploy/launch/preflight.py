"""Checks before any process of a deployment starts; each refusal says what to do."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from datetime import date

from deploy.common.deploy_config import DEFAULT_URL, DeployConfig
from deploy.common.robot_python import check_robot_python
from deploy.common.walk_summary import SHORTEST_WALK
from deploy.robots.odri.bring_up.calibration import default_path, load
from deploy.robots.registry import WalkSource, kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle

from .skill_checks import check_skills
from .threshold_checks import check_thresholds


def check(config: DeployConfig) -> Bundle:
    """Check settings, robot and skills; return the bundle.

    Raises:
        SoloError: With the setting, what was expected, and what to do.
    """
    check_robot(config)
    _check_python(config)
    if not re.fullmatch(r"udpm://[\d.]+:\d+(\?\S*)?", config.url):
        raise SoloError(
            f"--url {config.url}: expected udpm://ADDRESS:PORT?ttl=0, such as {DEFAULT_URL}."
        )
    check_seconds(config)
    check_thresholds(config)
    _check_walk_length(config)
    _check_operator(config)
    return check_skills(config)


def check_robot(config: DeployConfig) -> str:
    """Check the robot's settings and its calibration; return a note if the calibration is old."""
    kind = kind_of(config)
    kind.check_settings(config)
    calibration = with_calibration_path(config).calibration
    if not kind.has_master_board or calibration is None:
        return ""
    return load(calibration).check_age(date.today())


def with_calibration_path(config: DeployConfig) -> DeployConfig:
    """Fill in the default calibration file of a robot that keeps one, unless one is given."""
    if not kind_of(config).calibration_in_file or config.calibration is not None:
        return config
    return replace(config, calibration=default_path())


def check_seconds(config: DeployConfig) -> None:
    """Refuse a duration that is not positive and finite."""
    if not 0 < config.seconds < math.inf:
        raise SoloError(f"--seconds {config.seconds:g}: expected a time above 0.")


def _check_python(config: DeployConfig) -> None:
    """Check the interpreter of the robot process."""
    if kind_of(config).has_master_board:
        check_robot_python(config.robot_python, config.driver)
    elif config.robot_python is not None:
        raise SoloError(
            f"--robot-python is for a master board, not for --robot {config.robot}. Leave it out."
        )


def _check_walk_length(config: DeployConfig) -> None:
    """Refuse a scripted walk that is too short to be judged."""
    skills = 1 + len(config.then)
    has_walk = kind_of(config).walk_source is not WalkSource.NONE
    is_judged = has_walk and config.operator == "script" and not config.readonly
    if is_judged and config.seconds * skills < SHORTEST_WALK:
        raise SoloError(
            f"--seconds {config.seconds:g}: too short to tell whether the robot walks. Expected "
            f"at least {SHORTEST_WALK / skills:.2g} s with each of {skills} skill(s), or --mock, "
            "whose walk is not judged."
        )


def _check_operator(config: DeployConfig) -> None:
    """Check what drives the robot, and that a person can agree before a real one moves."""
    if config.readonly and config.fast:
        raise SoloError(
            "--readonly needs real time, not --fast: in lock-step the robot waits for commands."
        )
    if config.operator != "script" and config.fast:
        raise SoloError(f"--operator {config.operator} needs real time, not --fast.")
    if config.dead_man and config.operator != "gamepad":
        raise SoloError(
            f"--dead-man is a gamepad's button; --operator {config.operator} has none. "
            "Use --operator gamepad."
        )
    if kind_of(config).is_real and not sys.stdin.isatty():
        operator = "keyboard" if config.operator == "script" else config.operator
        raise SoloError(
            "--robot real moves only when a person at a terminal agrees, and there is none. "
            f"Run it in a terminal, also with --operator {operator}: it asks there before the "
            "legs first move."
        )
