"""`python -m solo_doi.sim.warp.selftest`: one file for a report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from solo_doi.sim import SimulationError, WarpConfig

pytest.importorskip("mujoco_warp")
from solo_doi.sim.warp import selftest, selftest_checks  # needs the package


def run(monkeypatch: pytest.MonkeyPatch, out: Path) -> int:
    """Run the self-test on the processor with few robots; return its exit code."""
    arguments = ["--device", "cpu", "--checked", "6", "--robots", "4", "8", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["selftest", *arguments])
    return selftest.main()


def test_it_checks_measures_and_writes_one_file(
    warp_cpu: WarpConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The file has versions, device, checks, and the throughput of Warp and MuJoCo."""
    monkeypatch.setattr(selftest_checks, "LONGEST_MEASUREMENT", float("inf"))
    assert run(monkeypatch, tmp_path / "report.json") == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["ok"]
    assert report["software"]["mujoco-warp"]
    assert report["device"]["alias"] == "cpu"
    for simulator in ("throughput", "mujoco"):
        assert [row["robots"] for row in report[simulator]] == [4, 8]
        assert [row["steps"] for row in report[simulator]] == [20, 20]
        assert all(row["control_steps_per_s"] > 0 for row in report[simulator])
    assert report["checks"][-1]["found"] == 0.0  # a processor repeats
    assert "control steps/s" in capsys.readouterr().out


def test_a_slow_simulator_is_measured_by_its_first_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of the self-test is bounded for any number of robots."""
    monkeypatch.setattr(selftest_checks, "LONGEST_MEASUREMENT", 0.0)
    found = selftest_checks.throughput("mujoco", 2, WarpConfig(device="cpu"))
    assert found["steps"] == 1
    assert found["control_steps_per_s"] > 0


def test_too_many_robots_are_a_line_of_the_file(
    warp_cpu: WarpConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What fits is measured; the exit code is 1."""

    def short(engine: str, robots: int, settings: WarpConfig) -> dict[str, float]:
        if engine == "warp" and robots == 8:
            raise RuntimeError("Failed to allocate [9]")
        return {"control_steps_per_s": 7.0, "steps": 20, "start_s": 0.1}

    monkeypatch.setattr(selftest, "run_checks", lambda *_: [])
    monkeypatch.setattr(selftest, "throughput", short)
    assert run(monkeypatch, tmp_path / "report.json") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["throughput"][1]["error"] == "RuntimeError: Failed to allocate [9]"
    assert "in short" in report["throughput"][1]["traceback"]
    assert [row["robots"] for row in report["mujoco"]] == [4, 8]
    assert "[9]" in capsys.readouterr().out


def test_a_failure_is_part_of_the_file(
    warp_cpu: WarpConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file can be attached to a report in any case."""

    def diverge(*_: object) -> None:
        raise SimulationError("The physics of robot 3 diverged.")

    monkeypatch.setattr(selftest, "run_checks", diverge)
    assert run(monkeypatch, tmp_path / "report.json") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["error"] == "The physics of robot 3 diverged."


def test_errors_of_drivers_and_compilers_are_in_the_file(
    warp_cpu: WarpConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong on a GPU that nobody has tried is what a report is for."""

    def fail(*_: object) -> None:
        raise ValueError("no kernel image is available")

    monkeypatch.setattr(selftest, "run_checks", fail)
    monkeypatch.setattr(selftest, "throughput", fail)
    assert run(monkeypatch, tmp_path / "report.json") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["error"] == "ValueError: no kernel image is available"
    assert "in fail" in report["traceback"]
    assert [row["robots"] for row in report["throughput"]] == [4, 8]
    assert {"architecture", "cuda", "driver"} <= {*report["device"]}
