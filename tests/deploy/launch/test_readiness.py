"""Conditions for moving a real robot."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from deploy.common.deploy_config import DeployConfig
from deploy.launch import readiness
from deploy.launch.readiness import check_readiness, go_path, record_go
from deploy.robots.odri.bring_up.calibration import save
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.common.errors import SoloError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployConfig:
    """Return settings of a calibrated real robot, with all rights."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(readiness, "RIGHTS_PROGRAM", "")
    path = tmp_path / "calibration.json"
    save(CALIBRATION, path)
    return DeployConfig(robot="real", interface="e0", calibration=path)


def refusal(config: DeployConfig) -> str:
    """Return the reason of the refusal."""
    with pytest.raises(SoloError) as error:
        check_readiness(config)
    return str(error.value)


def test_a_real_robot_needs_a_go_of_today(config: DeployConfig) -> None:
    advice = "Run --check until it says GO, or start with --skip-check."
    assert refusal(config) == f"No check of this robot said GO yet. {advice}"
    record_go(CALIBRATION.board)
    check_readiness(config)
    yesterday = (date.today() - timedelta(days=1)).isoformat()
    go_path().write_text(json.dumps({"board": CALIBRATION.board, "date": yesterday}))
    assert refusal(config) == f"The last GO is of {yesterday}, not of today. {advice}"
    record_go("02:00:00:00:00:99")
    assert refusal(config).startswith("The last GO belongs to board 02:00:00:00:00:99, this is")
    check_readiness(replace(config, skip_check=True))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"board": 1}'])
def test_a_damaged_record_is_no_go(config: DeployConfig, content: str) -> None:
    go_path().parent.mkdir()
    go_path().write_text(content)
    assert refusal(config).startswith("No check of this robot said GO yet.")


def test_a_real_robot_needs_real_time_scheduling(
    config: DeployConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_go(CALIBRATION.board)
    monkeypatch.setattr(readiness, "RIGHTS_PROGRAM", "raise SystemExit(1)")
    assert "--allow-jitter starts without it" in refusal(config)
    check_readiness(replace(config, allow_jitter=True))


def test_simulated_robots_need_neither() -> None:
    check_readiness(DeployConfig(robot="virtual"))
