"""Check of Isaac Gym's interpreter, on the double."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from collect import doctor_checks
from collect.doctor_checks import MAKE_INTERPRETER, check_isaac
from solo_doi.sim import IsaacConfig
from solo_doi.sim.isaac_config import PYTHON_VARIABLE


def test_an_interpreter_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    finding = check_isaac()
    assert not finding.good
    assert PYTHON_VARIABLE in finding.found
    assert finding.fix == MAKE_INTERPRETER


def test_a_python_without_isaac_gym_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, sys.executable)
    finding = check_isaac()
    assert not finding.good
    assert "No module named 'isaacgym" in finding.found
    assert MAKE_INTERPRETER not in finding.found


def test_an_interpreter_without_a_gpu_is_found(
    isaac_slow_start: IsaacConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, str(isaac_slow_start.python))
    finding = check_isaac()
    assert not finding.good
    assert finding.found.startswith("Isaac Gym 1.0 in Python 3.")
    assert finding.fix == "solo-collect --sim mujoco"


def test_the_gpu_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = 'banner\n{"isaacgym": "1.0", "python": "3.8", "gpu": "RTX", "capability": [8, 6]}'
    monkeypatch.setenv(PYTHON_VARIABLE, "python3.8")
    asked: list[Path] = []

    def run(python: Path, program: str, otherwise: str) -> str:
        asked.append(python)
        return answer

    monkeypatch.setattr(doctor_checks, "run_program", run)
    assert check_isaac().found.endswith("RTX, compute capability 8.6")
    assert asked == [Path("python3.8")]
