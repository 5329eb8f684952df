"""Validation of the controller's settings; a real robot allows none looser than its default."""

from __future__ import annotations

import math
from dataclasses import fields

from deploy.common.deploy_config import ControllerConfig, DeployConfig
from deploy.common.safety_config import SafetyConfig
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError

DURATIONS = ("power_seconds", "stand_seconds", "stop_seconds", "sit_seconds")
"""Durations of movements: a shorter one moves the legs faster."""
TRY_VIRTUAL = "Leave it out, or try it with --robot virtual."


def check_thresholds(config: DeployConfig) -> None:
    """Refuse values that divide by zero or disable a check, and looser ones on a real robot."""
    is_real = kind_of(config).is_real
    default = ControllerConfig()
    for field in fields(ControllerConfig):
        if field.name != "safety":
            value = getattr(config.controller, field.name)
            _check_motion(field.name, value, getattr(default, field.name), is_real=is_real)
    for field in fields(SafetyConfig):
        value = getattr(config.controller.safety, field.name)
        _check_threshold(field.name, value, getattr(default.safety, field.name), is_real=is_real)


def _check_motion(name: str, value: float, default: float, *, is_real: bool) -> None:
    """Check one setting of the controller's motions: a duration, gain or rate."""
    flag = _flag("controller", name)
    if not 0 < value < math.inf:
        raise SoloError(
            f"{flag} {value:g}: expected a finite number above 0. The default is {default:g}."
        )
    looser = ""
    if name in DURATIONS and value < default:
        looser = "shorter"
    elif name == "command_rate" and value > default:
        looser = "faster"
    if is_real and looser:
        raise SoloError(
            f"{flag} {value:g}: {looser} than {default:g}, the limit on a real robot. {TRY_VIRTUAL}"
        )


def _check_threshold(name: str, value: float, default: float, *, is_real: bool) -> None:
    """Check one threshold of the safety checks; a larger one is always looser."""
    flag = _flag("controller.safety", name)
    if not 0 <= value < math.inf:
        raise SoloError(
            f"{flag} {value:g}: this value would disable the check or make it always fail. "
            f"Expected a finite number of 0 or more. The default is {default:g}."
        )
    if is_real and value > default:
        raise SoloError(
            f"{flag} {value:g}: looser than {default:g}, the limit on a real robot. {TRY_VIRTUAL}"
        )


def _flag(group: str, name: str) -> str:
    return f"--{group}.{name.replace('_', '-')}"
