"""Entries of the registry: every kind of robot is made, started and checked as its entry says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from deploy.common.deploy_config import DeployConfig, RobotName
from deploy.robots.registry import KINDS, WalkSource, kind_of, make_robot
from deploy.robots.simulated.mock_solo import MockSolo
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
    """A new simulated robot must not become one that needs no consent, nor the real one lose it."""
    assert [name for name, kind in KINDS.items() if kind.is_real] == ["real"]
    assert [name for name, kind in KINDS.items() if kind.has_master_board] == ["virtual", "real"]
    assert [name for name, kind in KINDS.items() if kind.walk_source is WalkSource.NONE] == ["mock"]


def test_the_script_waits_until_the_crane_is_off() -> None:
    """Robots that lie on the ground settle for half a second."""
    assert {name: kind.settle_seconds for name, kind in KINDS.items()} == {
        "pybullet": 0.5, "mock": 0.5, "virtual": LET_DOWN, "real": 0.5,
    }  # fmt: skip


def test_a_virtual_board_runs_the_process_beside_itself() -> None:
    """Other robots are started as they are, without the board's options."""
    options = ["--lower-after", "0.5"]
    for name in ("pybullet", "mock", "real"):
        assert KINDS[name].start(ROBOT, DeployConfig(robot=name), options) == ROBOT  # type: ignore[index, arg-type]
    config = DeployConfig(robot="virtual", fast=True, protocol=3, seed=7)
    assert kind_of(config).start(ROBOT, config, options) == [
        *module_command("deploy.robots.virtual_board"), "--veth", "--protocol", "3",
        "--clock", "lock-step", "--seed", "7", *options, "--", *ROBOT,
    ]  # fmt: skip


def test_settings_that_a_robot_cannot_run_with_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same refusals stand before a walk, a check and a calibration."""
    monkeypatch.delenv("DISPLAY", raising=False)
    real = DeployConfig(robot="real", interface="e0")
    kind_of(real).check_settings(real)
    with pytest.raises(SoloError, match="--robot real needs --interface"):
        kind_of(real).check_settings(replace(real, interface=None))
    with pytest.raises(SoloError, match="--fast is for simulated robots"):
        kind_of(real).check_settings(replace(real, fast=True))
    window = DeployConfig(robot="pybullet")
    with pytest.raises(SoloError, match="Add --headless"):
        kind_of(window).check_settings(window)
    kind_of(window).check_settings(replace(window, headless=True))


def test_a_real_robot_is_not_opened_without_card_and_calibration(tmp_path: Path) -> None:
    """The robot process has its configuration from a file, which preflight may not have seen."""
    for config in (
        DeployConfig(robot="real", interface="e0"),
        DeployConfig(robot="real", calibration=tmp_path / "solo12.json"),
    ):
        with pytest.raises(SoloError):
            make_robot(config)


def test_the_mock_starts_its_clock_at_the_first_tick() -> None:
    """Its time is then that of the host's ticks."""
    robot = make_robot(DeployConfig(robot="mock"))
    assert isinstance(robot, MockSolo)
    robot.start_clock(12.5)
    assert robot.time == 12.5


def test_importing_the_registry_loads_no_simulator() -> None:
    """The robot's computer has none."""
    program = (
        "import sys, deploy.robots.registry\n"
        "print(sorted({'pybullet', 'mujoco', 'torch', 'lcm', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
