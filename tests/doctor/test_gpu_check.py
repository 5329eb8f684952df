"""Recommendation of a simulator for the graphics card, by a stand-in for the driver's program."""

from __future__ import annotations

from pathlib import Path

import pytest

from solo_doi.doctor.gpu_check import check_gpu


def driver(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program in place of nvidia-smi; `text` is its shell script."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        ("NVIDIA GeForce RTX 4090, 8.9", "--sim warp, or --sim isaacgym"),
        ("NVIDIA H100 PCIe, 9.0", "--sim warp; Isaac Gym does not run"),
        ("NVIDIA GeForce RTX 5090, 12.0", "--sim warp; Isaac Gym does not run"),
    ],
)
def test_a_simulator_is_recommended_by_the_card(
    answer: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two cards are listed; the first one is meant, as in all commands."""
    driver(tmp_path, f"echo '{answer}'; echo 'NVIDIA T4, 7.5'", monkeypatch)
    finding = check_gpu()
    assert finding.good
    assert finding.found.startswith(answer.replace(", ", ", compute capability "))
    assert advice in finding.found


def test_without_a_driver_the_processor_is_recommended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = check_gpu()
    assert not finding.good
    assert finding.fix == "solo-collect --sim mujoco"


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'", "true"])
def test_a_driver_without_a_card_is_reported(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(tmp_path, script, monkeypatch)
    finding = check_gpu()
    assert not finding.good
    assert "NVIDIA driver" in finding.found
    assert finding.fix == "nvidia-smi"
