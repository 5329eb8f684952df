"""The command solo-doctor, with planted findings."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from deploy.cli import doctor
from solo_doi.common.doctor import Finding, HealthCheck
from tests.command import Command

CHECKS = (
    HealthCheck("torch", "training", lambda: Finding(True, "2.13"), frozenset({"train"})),
    HealthCheck(
        "LCM", "messages", lambda: Finding(False, "[no]", "repair lcm"), frozenset({"deploy"})
    ),
    HealthCheck("gamepad", "driving", lambda: Finding(False, "none", "plug it in")),
)


@pytest.fixture
def solo_doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setattr(doctor, "contributed_checks", lambda: CHECKS)
    return Command("solo-doctor", doctor.main, monkeypatch, capsys)


def test_every_line_has_a_verdict_and_every_fault_a_command(solo_doctor: Command) -> None:
    lines = solo_doctor.good().splitlines()
    assert lines[0].split() == ["good", "torch:", "2.13"]
    assert lines[1].split() == ["fix", "LCM:", "[no]"]
    assert lines[2].strip() == "for messages: repair lcm"
    assert lines[3].split()[0] == "optional"
    assert lines[4].strip() == "for driving: plug it in"
    assert lines[5] == "To be fixed for every use: LCM"


@pytest.mark.parametrize(
    ("purpose", "code", "last"),
    [
        ("train", 0, "Ready for train."),
        ("deploy", 1, "To be fixed for deploy: LCM"),
        ("collect", 0, "Ready for collect."),
        ("robot", 0, "Ready for robot."),
    ],
)
def test_the_purpose_sets_the_exit_code(
    solo_doctor: Command, purpose: str, code: int, last: str
) -> None:
    found, output, _ = solo_doctor("--for", purpose)
    assert (found, output.splitlines()[-1]) == (code, last)


def test_json_has_all_lines(solo_doctor: Command, tmp_path: Path) -> None:
    code, output, _ = solo_doctor("--json", "--for", "deploy", "--out", tmp_path / "doctor.json")
    content = json.loads(output)
    assert code == 1
    assert content == json.loads((tmp_path / "doctor.json").read_text())
    assert content["for"] == "deploy"
    verdicts = [line["verdict"] for line in content["checks"]]
    assert verdicts == ["good", "fix", "optional"]


def test_all_packages_contribute() -> None:
    names = [check.name for check in doctor.contributed_checks()]
    for module in doctor.CONTRIBUTORS:
        own = [check.name for check in importlib.import_module(module).CHECKS]
        assert own
        assert {*own} <= {*names}
    assert len(names) == len({*names})
