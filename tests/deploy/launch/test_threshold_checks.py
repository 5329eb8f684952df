"""Settings of the controller: no value disables a check, or loosens one on a real robot."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.common.deploy_config import ControllerConfig, DeployConfig
from deploy.common.safety_config import SafetyConfig
from deploy.launch.preflight import check
from deploy.launch.threshold_checks import check_thresholds
from deploy.robots.odri.bring_up.calibration import save
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.common.errors import SoloError

NUMBERS = [field.name for field in fields(ControllerConfig) if field.name != "safety"]
THRESHOLDS = [field.name for field in fields(SafetyConfig)]
MOCK, REAL = DeployConfig(robot="mock"), DeployConfig(robot="real", interface="e0")


def moving(config: DeployConfig, name: str, value: float) -> DeployConfig:
    """Return a deployment with another setting of the controller's motions."""
    return replace(config, controller=replace(config.controller, **{name: value}))


def watching(config: DeployConfig, name: str, value: float) -> DeployConfig:
    """Return a deployment with another threshold of a check."""
    return moving(config, "safety", replace(config.controller.safety, **{name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0.0, -1.0, nan, inf, -inf])
def test_durations_gains_and_rates_are_above_zero(name: str, value: float) -> None:
    """Otherwise standing up would never end, or a walk would end in a division by zero."""
    with pytest.raises(SoloError) as error:
        check(moving(MOCK, name, value))
    flag = f"--controller.{name.replace('_', '-')}"
    usual = getattr(ControllerConfig(), name)
    assert (
        str(error.value)
        == f"{flag} {value:g}: expected a finite number above 0. The default is {usual:g}."
    )
    check(moving(MOCK, name, 0.5))


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("value", [nan, inf, -inf, -1])
def test_no_threshold_switches_a_check_off(name: str, value: float) -> None:
    """This includes simulations and NaN, which no value exceeds."""
    with pytest.raises(
        SoloError,
        match=rf"^--controller\.safety\.{name.replace('_', '-')} {value:g}: this value would",
    ):
        check(watching(MOCK, name, value))


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_real_robot_has_no_looser_thresholds(name: str) -> None:
    """Stricter values are allowed, and simulations may use looser ones."""
    usual = getattr(SafetyConfig(), name)
    looser = usual + 1
    with pytest.raises(SoloError) as error:
        check_thresholds(watching(REAL, name, looser))
    assert str(error.value) == (
        f"--controller.safety.{name.replace('_', '-')} {looser:g}: looser than {usual:g}, the "
        f"limit on a real robot. "
        "Leave it out, or try it with --robot virtual."
    )
    for good in (usual, type(usual)(usual / 2)):
        check_thresholds(watching(REAL, name, good))
    for robot in ("mock", "pybullet", "virtual"):
        check_thresholds(watching(replace(REAL, robot=robot), name, looser))


@pytest.mark.parametrize(
    ("name", "wrong", "good", "word"),
    [
        ("power_seconds", 0.29, 0.31, "shorter"),
        ("stand_seconds", 1.4, 3.0, "shorter"),
        ("stop_seconds", 0.7, 0.9, "shorter"),
        ("sit_seconds", 1.4, 3.0, "shorter"),
        ("command_rate", 1.1, 0.5, "faster"),
    ],
)
def test_a_real_robot_moves_no_faster_than_usual(
    name: str, wrong: float, good: float, word: str
) -> None:
    """Slower values are allowed, and simulations may use faster ones."""
    usual = getattr(ControllerConfig(), name)
    with pytest.raises(SoloError) as error:
        check_thresholds(moving(REAL, name, wrong))
    assert str(error.value) == (
        f"--controller.{name.replace('_', '-')} {wrong:g}: {word} than {usual:g}, the limit on a "
        f"real robot. "
        "Leave it out, or try it with --robot virtual."
    )
    for value in (usual, good):
        check_thresholds(moving(REAL, name, value))
    for robot in ("mock", "pybullet", "virtual"):
        check_thresholds(moving(replace(REAL, robot=robot), name, wrong))


def test_a_real_robot_is_checked_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preflight includes these checks."""
    monkeypatch.setattr("deploy.launch.preflight.sys.stdin", SimpleNamespace(isatty=lambda: True))
    save(replace(CALIBRATION, measured=date.today()), tmp_path / "robot.json")
    real = replace(REAL, calibration=tmp_path / "robot.json")
    check(real)
    with pytest.raises(
        SoloError, match=r"operator-age 0\.6: looser than 0\.5, the limit on a real robot"
    ):
        check(watching(real, "operator_age", 0.6))
