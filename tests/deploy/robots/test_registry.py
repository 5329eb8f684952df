"""Entries of the registry: every kind of robot is made, started and checked by its entry."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from deploy.common.deploy_config import DeployConfig, RobotName
from deploy.robots.registry import KINDS, WalkSource, _has_window, kind_of, make_robot
from deploy.robots.simulated.mock_solo import MockSolo
from deploy.robots.virtual_board import interface_rights
from deploy.robots.virtual_board.crane_timing import LET_DOWN
from solo_doi.common.child_python import module_command
from solo_doi.common.errors import SoloError

ROBOT = ["python", "-m", "deploy.robots.process", "run"]


def test_every_name_has_one_entry() -> None:
    """Names of the command line and entries are the same."""
    assert {*KINDS} == {*get_args(RobotName)}
    assert all(kind.name == name for name, kind in KINDS.items())
    assert kind_of(DeployConfig(robot="virtual")) is KINDS["virtual"]


def test_one_kind_is_real_and_only_boards_are_measured() -> None:
    """Only the real robot needs consent; a new simulated one must not change that."""
    assert [name for name, kind in KINDS.items() if kind.is_real] == ["real"]
    assert [name for name, kind in KINDS.items() if kind.has_master_board] == ["virtual", "real"]
    assert [name for name, kind in KINDS.items() if kind.walk_source is WalkSource.NONE] == ["mock"]


def test_the_script_waits_until_the_crane_is_off() -> None:
    """Robots that lie on the ground settle for half a second."""
    assert {name: kind.settle_seconds for name, kind in KINDS.items()} == {
        "pybullet": 0.5, "mujoco": 0.5, "mock": 0.5, "virtual": LET_DOWN, "real": 0.5,
    }  # fmt: skip


def test_a_virtual_board_runs_the_process_beside_itself() -> None:
    """Other robots are started without the board's options."""
    options = ["--lower-after", "0.5"]
    for name in ("pybullet", "mock", "real"):
        assert KINDS[name].start(ROBOT, DeployConfig(robot=name), options) == ROBOT  # type: ignore[index, arg-type]
    config = DeployConfig(robot="virtual", fast=True, protocol=3, seed=7)
    assert kind_of(config).start(ROBOT, config, options) == [
        *module_command("deploy.robots.virtual_board"), "--veth", "--protocol", "3",
        "--clock", "lock-step", "--seed", "7", *options, "--", *ROBOT,
    ]  # fmt: skip


def test_settings_that_a_robot_cannot_run_with_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same errors occur before a walk, a check and a calibration."""
    monkeypatch.delenv("DISPLAY", raising=False)
    real = DeployConfig(robot="real", interface="e0")
    kind_of(real).check_settings(real)
    with pytest.raises(SoloError, match="--robot real needs --interface"):
        kind_of(real).check_settings(replace(real, interface=None))
    with pytest.raises(SoloError, match="--fast is for simulated robots"):
        kind_of(real).check_settings(replace(real, fast=True))


@pytest.mark.parametrize(
    ("display", "headless", "window", "note"),
    [(":0", False, True, False), (":0", True, False, False), ("", False, False, True)],
)
def test_without_a_display_the_simulation_has_no_window(
    display: str,
    headless: bool,
    window: bool,
    note: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    config = DeployConfig(robot="pybullet", headless=headless)
    kind_of(config).check_settings(config)
    assert _has_window(config) is window
    assert ("no display for a window" in capsys.readouterr().err) is note


def test_a_virtual_board_without_rights_names_a_command_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command makes a network of its own, in which the check passes."""
    config = DeployConfig(robot="virtual")
    status = tmp_path / "status"
    monkeypatch.setattr(interface_rights, "PROCESS_STATUS", status)
    check = interface_rights.may_make_interfaces
    monkeypatch.setattr("deploy.robots.registry.may_make_interfaces", check)
    status.write_text("Name: python\nCapEff:\t0000000000001000\n")
    kind_of(config).check_settings(config)
    status.write_text("Name: python\nCapEff:\t0000000000000fff\n")
    program = (
        "from deploy.robots.virtual_board.interface_rights import may_make_interfaces; "
        "print(may_make_interfaces())"
    )
    monkeypatch.setattr(sys, "argv", [sys.executable, "-c", program])
    with pytest.raises(SoloError) as error:
        kind_of(config).check_settings(config)
    command = str(error.value).partition("of its own: ")[2]
    assert command.startswith("unshare -Urn ")
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if ran.returncode and "unshare failed" in ran.stderr:
        pytest.skip("this system allows no user namespaces")
    assert ran.stdout == "True\n", ran.stderr


def test_mujoco_replaces_pybullet() -> None:
    """It needs no PyBullet, and says that it has no window."""
    program = (
        "import sys; sys.modules['pybullet'] = None; "
        "from deploy.common.deploy_config import DeployConfig; "
        "from deploy.robots.registry import kind_of, make_robot; "
        "config = DeployConfig(robot='mujoco'); robot = make_robot(config); "
        "kind_of(config).make_ground_truth(robot); print(robot.sense().time)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0.0\n"
    assert "--robot mujoco has no window" in ran.stderr


def test_a_real_robot_is_not_opened_without_card_and_calibration(tmp_path: Path) -> None:
    """The robot process reads its configuration from a file, possibly without a preflight."""
    for config in (
        DeployConfig(robot="real", interface="e0"),
        DeployConfig(robot="real", calibration=tmp_path / "solo12.json"),
    ):
        with pytest.raises(SoloError):
            make_robot(config)


def test_the_mock_starts_its_clock_at_the_first_tick() -> None:
    """Its time then follows the host's ticks."""
    robot = make_robot(DeployConfig(robot="mock"))
    assert isinstance(robot, MockSolo)
    robot.start_clock(12.5)
    assert robot.time == 12.5


def test_importing_the_registry_loads_no_simulator() -> None:
    """A robot's computer has no simulator installed."""
    program = (
        "import sys, deploy.robots.registry\n"
        "print(sorted({'pybullet', 'mujoco', 'torch', 'lcm', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
