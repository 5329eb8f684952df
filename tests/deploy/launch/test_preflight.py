"""Preflight: each error comes before any process starts, in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deploy.common.deploy_config import ControllerConfig, DeployConfig
from deploy.launch.preflight import check, check_robot, with_calibration_path
from deploy.launch.skill_checks import check_gains
from deploy.robots.odri.bring_up.calibration import default_path, save
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.common.errors import SoloError
from solo_doi.export.writer import write_bundle
from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import MADE_FROM, masked_policy, skill_policy, write

GOOD = DeployConfig(headless=True)
JUDGED = tuple({"skill": skill, "selected": skill != 1, "success": 0.5} for skill in range(3))


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Return three steerable skills, with the second rejected."""
    path = tmp_path / "skills.onnx"
    write_bundle(skill_policy(), "locomotion", path, MADE_FROM, JUDGED)
    return path


def refusal(**changes: Any) -> str:  # any field
    """Return the reason why a deployment is refused."""
    with pytest.raises(SoloError) as error:
        check(replace(GOOD, **changes))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("skill", range(5))
def test_the_shipped_skills_are_the_default(skill: int) -> None:
    """All five may walk without `--force`."""
    bundle = check(replace(GOOD, skill=skill))
    assert (bundle.path, bundle.num_skills, bundle.contract.task) == (SHIPPED, 5, "locomotion")


@pytest.mark.parametrize("seconds", [0.0, -1.0, inf, nan])
def test_a_walk_has_a_length(seconds: float) -> None:
    """`--seconds` must be positive and finite."""
    assert refusal(seconds=seconds) == f"--seconds {seconds:g}: expected a time above 0."


@pytest.mark.parametrize("distance", [0.0, -1.0, inf, nan])
def test_a_bound_is_a_distance(distance: float) -> None:
    """`--distance` must be positive and finite, for every robot and operator.

    By default there is no bound.
    """
    for changes in ({}, {"robot": "mock"}, {"robot": "virtual"}, {"operator": "keyboard"}):
        assert refusal(distance=distance, **changes) == (
            f"--distance {distance:g}: expected a distance above 0 in metres, such as 2. "
            "Leave it out for a walk without a bound."
        )
        check(replace(GOOD, distance=0.5, **changes))  # type: ignore[arg-type]  # any field
    assert GOOD.distance is None


def test_a_walk_that_is_too_short_to_be_judged_is_refused() -> None:
    """The message names the shortest time that can be judged."""
    assert refusal(seconds=0.5) == (
        "--seconds 0.5: too short to tell whether the robot walks. Expected at least 1.5 s with "
        "each of 1 skill(s), or "
        "--mock, whose walk is not judged."
    )
    assert "at least 0.75 s with each of 2 skill(s)" in refusal(
        seconds=0.7, then=(1,), robot="virtual"
    )
    for robot in ("pybullet", "virtual"):
        assert "too short" in refusal(seconds=1.4, robot=robot)
    for changes in ({"seconds": 1.5}, {"seconds": 0.75, "then": (1,)}):
        check(replace(GOOD, **changes))  # type: ignore[arg-type]  # any field
    for free in ({"robot": "mock"}, {"readonly": True}, {"operator": "keyboard"}):
        check(replace(GOOD, seconds=0.1, **free))  # type: ignore[arg-type]


@pytest.mark.parametrize("operator", ["keyboard", "gamepad"])
def test_operators_need_real_time(operator: str) -> None:
    """Lock-step does not run in real time."""
    assert (
        refusal(operator=operator, fast=True)
        == f"--operator {operator} needs real time, not --fast."
    )
    check(replace(GOOD, operator=operator))


@pytest.mark.parametrize("operator", ["script", "keyboard"])
def test_a_dead_mans_button_needs_a_gamepad(operator: str) -> None:
    """The gamepad is the only device with such a button."""
    reason = (
        f"--dead-man is a gamepad's button; --operator {operator} has none. Use --operator gamepad."
    )
    assert refusal(dead_man=True, operator=operator) == reason
    check(replace(GOOD, dead_man=True, operator="gamepad"))


@pytest.mark.parametrize("skill", [-1, 5, 99])
def test_skills_that_do_not_exist_are_refused(skill: int) -> None:
    """This holds for the first and later skills; the message names those that exist."""
    for changes in ({"skill": skill}, {"then": (1, skill)}):
        assert refusal(**changes) == f"Skill {skill} does not exist: {SHIPPED} has skills 0 to 4."


def test_a_rejected_skill_is_refused_unless_forced(judged: Path) -> None:
    """This holds for later skills, too; the message names the selected ones."""
    for changes in ({"skill": 1}, {"then": (1,)}):
        reason = refusal(bundle=judged, **changes)
        assert reason.startswith(
            "Skill 1 was rejected by its evaluation (success 50%). Selected: 0, 2."
        )
    check(replace(GOOD, bundle=judged, skill=1, force=True))
    check(replace(GOOD, bundle=judged, skill=2, then=(0,)))


def test_skills_without_an_evaluation_may_walk(tmp_path: Path) -> None:
    """A skill without an evaluation is not rejected."""
    path = tmp_path / "skills.onnx"
    write_bundle(skill_policy(), "locomotion", path, MADE_FROM, ())
    check(replace(GOOD, bundle=path, skill=1))


def test_a_navigation_bundle_is_refused(tmp_path: Path) -> None:
    """This robot has no height map."""
    path = write(tmp_path / "nav.onnx", masked_policy(size=LAYOUTS["navigation"].size))
    assert (
        refusal(bundle=path)
        == f"{path}: made for navigation, which needs a height map; this robot has none."
    )


def test_a_damaged_bundle_is_refused(judged: Path) -> None:
    """The error is that of the bundle reader."""
    content = bytearray(judged.read_bytes())
    content[1000] ^= 1
    judged.write_bytes(content)
    with pytest.raises(BundleError):
        check(replace(GOOD, bundle=judged))
    assert "no such file" in refusal(bundle=judged.with_name("absent.onnx"))


def test_skills_of_one_command_take_no_other() -> None:
    """The shipped skills have one command, 1 m/s forward."""
    assert "its skills know one command only" in refusal(velocity=(0.5, 0.0, 0.0))


def test_velocities_beyond_training_are_refused(judged: Path) -> None:
    """Each of the three numbers may be too large, too small or not a number.

    The ends of the range are accepted.
    """
    limits = check(replace(GOOD, bundle=judged)).contract.command_range
    for end in ("low", "high"):
        check(replace(GOOD, bundle=judged, velocity=limits[end]))
        for place in range(3):
            for bad in (limits[end][place] + (1e-6 if end == "high" else -1e-6), nan):
                velocity = tuple(
                    bad if k == place else value for k, value in enumerate(limits[end])
                )
                assert ", the range of training." in refusal(bundle=judged, velocity=velocity)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make standard input a terminal."""
    monkeypatch.setattr("deploy.launch.preflight.sys.stdin", SimpleNamespace(isatty=lambda: True))


@pytest.mark.usefixtures("terminal")
def test_the_real_robots_calibration_has_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is that of `calibrate`; if it is missing, the message names that command."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config = replace(GOOD, robot="real", interface="e0", operator="keyboard")
    path = tmp_path / "solo-doi" / "calibration.json"
    with pytest.raises(
        SoloError, match=r"never calibrated\. Run: solo-deploy calibrate --interface CARD"
    ):
        check(config)
    path.parent.mkdir()
    save(replace(CALIBRATION, measured=date.today()), path)
    check(config)
    assert with_calibration_path(config).calibration == path
    assert with_calibration_path(
        replace(config, calibration=Path("other.json"))
    ).calibration == Path("other.json")
    assert with_calibration_path(replace(config, robot="virtual")).calibration is None
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert default_path() == Path.home() / ".config" / "solo-doi" / "calibration.json"


@pytest.mark.parametrize(
    ("changes", "kp", "limit"),
    [
        (
            {"robot": "virtual", "protocol": 4},
            5.2,
            "protocol 4 carries at most kp 5.16 and kd 0.60",
        ),
        (
            {"robot": "virtual", "protocol": 3},
            10.1,
            "protocol 3 carries at most kp 10.00 and kd 0.60",
        ),
        ({"robot": "virtual", "driver": "sdk"}, 10.1, "protocol 3 carries"),
        # The protocol may be 3, which --check determines.
        ({"robot": "real"}, 10.1, "protocol 3 carries"),
        (
            {"robot": "mock"},
            10.1,
            "the robot process accepts at most kp 10.00 and kd 0.60",
        ),
    ],
)
def test_gains_that_cannot_reach_the_motors_are_refused(
    changes: dict[str, Any], kp: float, limit: str
) -> None:
    """The message contains both numbers; smaller gains pass."""
    config = replace(GOOD, **changes)
    contract = SimpleNamespace(kp=kp, kd=0.2)
    bundle: Any = SimpleNamespace(path="skills.onnx", contract=contract)
    with pytest.raises(SoloError, match=re.escape(f"with kp {kp:.2f} and kd 0.20; {limit}")):
        check_gains(bundle, config)
    contract.kp = 5.0
    check_gains(bundle, config)
    with pytest.raises(SoloError, match=r"kd 0\.61"):
        check_gains(bundle, replace(config, controller=ControllerConfig(pose_kd=0.61)))


@pytest.mark.usefixtures("terminal")
def test_a_robot_needs_a_calibration_that_can_be_true(tmp_path: Path) -> None:
    """An old calibration gives a note; a future date or implausible offsets are refused."""
    path, today = tmp_path / "robot.json", date.today()
    config = replace(GOOD, robot="real", interface="e0", calibration=path)
    save(replace(CALIBRATION, measured=today), path)
    assert check_robot(config) == ""
    save(replace(CALIBRATION, measured=today - timedelta(days=100)), path)
    assert check_robot(config).startswith("the calibration is 100 days old")
    check(config)
    save(replace(CALIBRATION, measured=today + timedelta(days=1)), path)
    assert "is in the future" in refusal(robot="real", interface="e0", calibration=path)
    save(replace(CALIBRATION, measured=today, offset=np.full(12, 0.1)), path)
    for robot in ("real", "virtual"):
        assert "twelve equal offsets" in refusal(robot=robot, interface="e0", calibration=path)


def test_a_real_walk_by_script_is_long_enough_to_be_judged(tmp_path: Path, terminal: None) -> None:
    """A scripted walk is judged at its end, like a simulated one.

    Walks of an operator may be shorter.
    """
    save(replace(CALIBRATION, measured=date.today()), tmp_path / "robot.json")
    real: dict[str, Any] = {
        "robot": "real",
        "interface": "e0",
        "calibration": tmp_path / "robot.json",
    }
    assert "--seconds 1: too short to tell whether the robot walks." in refusal(seconds=1.0, **real)
    check(replace(GOOD, seconds=1.5, **real))
    check(replace(GOOD, seconds=1.0, operator="keyboard", **real))


@pytest.mark.parametrize("operator", ["script", "keyboard", "gamepad"])
def test_a_real_robot_needs_a_terminal_to_ask_at(
    operator: str, tmp_path: Path, terminal: None
) -> None:
    """This holds for every operator, because the legs move during bring-up."""
    save(replace(CALIBRATION, measured=date.today()), tmp_path / "robot.json")
    real = {
        "robot": "real",
        "interface": "e0",
        "calibration": tmp_path / "robot.json",
        "operator": operator,
    }
    check(replace(GOOD, **real))  # type: ignore[arg-type]  # any field
    with open("/dev/null") as no_terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr("deploy.launch.preflight.sys.stdin", no_terminal)
        words = refusal(**real)
    assert words.startswith(
        "--robot real needs consent at a terminal, but standard input is not one. Run it in a "
    )
    assert f"--operator {'keyboard' if operator == 'script' else operator}" in words


@pytest.mark.parametrize(
    "url",
    [
        "foo",
        "udpm://",
        "udpm://239.255.76.67",
        "tcpq://127.0.0.1:7700",
        "",
        "udpm://239.255.76.67:0?ttl=0",
        "udpm://239.255.76.67:65536?ttl=0",
        "udpm://10.0.0.1:7667?ttl=0",
        "udpm://239.255.76.256:7667?ttl=0",
    ],
)
def test_invalid_message_addresses_are_refused(url: str) -> None:
    """Invalid and slow addresses are refused before the processes start."""
    with pytest.raises(SoloError, match=r"--url .*expected udpm://ADDRESS:PORT\?ttl=0"):
        check(replace(GOOD, url=url))
