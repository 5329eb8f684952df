"""Checks before any process of a deployment starts; each refusal says what to do."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from datetime import date
from ipaddress import ip_address
from pathlib import Path

from deploy.common.deploy_config import DEFAULT_URL, DeployConfig
from deploy.common.interpreter_rights import check_owner_only
from deploy.common.robot_python import check_robot_python
from deploy.common.walk_summary import SHORTEST_WALK
from deploy.robots.odri.bring_up.calibration import default_path, load
from deploy.robots.registry import WalkSource, kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle

from .skill_checks import check_skills
from .threshold_checks import check_thresholds

LARGEST_PORT = 65535


def check(config: DeployConfig) -> Bundle:
    """Check settings, robot and skills; return the bundle.

    Raises:
        SoloError: The message has the setting, the expected values and the remedy.
    """
    check_robot(config)
    _check_python(config)
    _check_url(config.url)
    if config.seed < 0:
        raise SoloError(f"--seed {config.seed}: expected 0 or more.")
    check_seconds(config)
    _check_distance(config)
    check_thresholds(config)
    _check_walk_length(config)
    _check_operator(config)
    return check_skills(config)


def check_robot(config: DeployConfig) -> str:
    """Check the robot's settings and its calibration; return a note if the calibration is old."""
    kind = kind_of(config)
    kind.check_settings(config)
    if kind.is_real:
        check_owner_only(config.robot_python or Path(sys.executable))
    calibration = with_calibration_path(config).calibration
    if not kind.has_master_board or calibration is None:
        return ""
    return load(calibration).check_age(date.today())


def with_calibration_path(config: DeployConfig) -> DeployConfig:
    """Set the default calibration file for robots that need one, unless another is given."""
    if not kind_of(config).calibration_in_file or config.calibration is not None:
        return config
    return replace(config, calibration=default_path())


def check_seconds(config: DeployConfig) -> None:
    """Refuse a duration that is not positive and finite."""
    if not 0 < config.seconds < math.inf:
        raise SoloError(f"--seconds {config.seconds:g}: expected a time above 0.")


def _check_url(url: str) -> None:
    """Refuse an address that LCM cannot use: not multicast, or an impossible port."""
    parts = re.fullmatch(r"udpm://([\d.]+):(\d+)(\?\S*)?", url)
    try:
        usable = parts is not None and ip_address(parts[1]).is_multicast
    except ValueError:  # not four numbers up to 255
        usable = False
    if parts is None or not usable or not 0 < int(parts[2]) <= LARGEST_PORT:
        raise SoloError(
            f"--url {url}: expected udpm://ADDRESS:PORT?ttl=0 with a multicast address (224.0.0.0 "
            f"to 239.255.255.255) and a port from 1 to {LARGEST_PORT}, such as {DEFAULT_URL}."
        )


def _check_distance(config: DeployConfig) -> None:
    """Refuse a bound that is not positive and finite."""
    if config.distance is not None and not 0 < config.distance < math.inf:
        raise SoloError(
            f"--distance {config.distance:g}: expected a distance above 0 in metres, such as 2. "
            "Leave it out for a walk without a bound."
        )


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
    """Check the operator's settings; a real robot needs a terminal for the operator's consent."""
    if config.readonly and config.fast:
        raise SoloError(
            "--readonly needs real time, not --fast: in lock-step the robot waits for commands."
        )
    if config.operator != "script" and config.fast:
        raise SoloError(f"--operator {config.operator} needs real time, not --fast.")
    if config.view and config.fast:
        raise SoloError("--view needs real time, not --fast: a page shows what happens now.")
    if not 0 <= config.view_port <= LARGEST_PORT:
        raise SoloError(f"--view-port {config.view_port}: expected 0 to {LARGEST_PORT}.")
    if config.dead_man and config.operator != "gamepad":
        raise SoloError(
            f"--dead-man is a gamepad's button; --operator {config.operator} has none. "
            "Use --operator gamepad."
        )
    if kind_of(config).is_real and not sys.stdin.isatty():
        operator = "keyboard" if config.operator == "script" else config.operator
        raise SoloError(
            "--robot real needs consent at a terminal, but standard input is not one. "
            f"Run it in a terminal, also with --operator {operator}."
        )
