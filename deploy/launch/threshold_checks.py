"""Numbers of the controller that people may set: which are none, and which are too loose for a real robot."""

from __future__ import annotations

import math
from dataclasses import fields

from deploy.common.deploy_config import ControllerConfig, DeployConfig
from deploy.common.safety_config import SafetyConfig
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError

DURATIONS = ("power_seconds", "stand_seconds", "stop_seconds", "sit_seconds")
"""Of these a shorter one moves legs faster."""


def check_thresholds(config: DeployConfig) -> None:
    """Refuse what would divide by zero or silently switch a check off; on a real robot, all that is looser."""
    usual = ControllerConfig()
    real = kind_of(config).is_real
    for field in fields(ControllerConfig):
        value = getattr(config.controller, field.name)
        if field.name != "safety":
            _check_motion(field.name, value, getattr(usual, field.name), real=real)
    for field in fields(SafetyConfig):
        value, default = (
            getattr(config.controller.safety, field.name),
            getattr(usual.safety, field.name),
        )
        _check(field.name, value, default, real=real)


def _check_motion(name: str, value: float, usual: float, *, real: bool) -> None:
    """Judge how the controller moves the robot."""
    flag = _flag("controller", name)
    if not 0 < value < math.inf:
        raise SoloError(
            f"{flag} {value:g}: expected a number above 0, and no end. By default {usual:g}."
        )
    shorter, faster = name in DURATIONS and value < usual, name == "command_rate" and value > usual
    if real and (shorter or faster):
        raise SoloError(
            f"{flag} {value:g}: {'shorter' if shorter else 'faster'} than {usual:g}, the limit on a real robot. Leave "
            "it out, or try it with --robot virtual."
        )


def _check(name: str, value: float, usual: float, *, real: bool) -> None:
    """Judge one threshold of the checks: of each, a larger one is looser."""
    flag = _flag("controller.safety", name)
    if not 0 <= value < math.inf:
        raise SoloError(
            f"{flag} {value:g}: this check would never or always be a fault. Expected 0 or more, and no end; by "
            f"default {usual:g}."
        )
    if real and value > usual:
        raise SoloError(
            f"{flag} {value:g}: looser than {usual:g}, the limit on a real robot. Leave it out, or try it with "
            "--robot virtual."
        )


def _flag(group: str, name: str) -> str:
    return f"--{group}.{name.replace('_', '-')}"
