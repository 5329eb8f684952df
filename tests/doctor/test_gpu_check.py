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
        ("Tesla V100-SXM2-16GB, 7.0, 580.95.05", "--sim isaacgym where it is installed; too old"),
        ("NVIDIA GeForce RTX 4090, 8.9, 580.95.05", "--sim warp; or --sim isaacgym"),
        ("NVIDIA H100 PCIe, 9.0, 590.48.01", "--sim warp; Isaac Gym does not run"),
        ("NVIDIA GeForce RTX 5090, 12.0, 580.95.05", "--sim warp; Isaac Gym does not run"),
    ],
)
def test_a_simulator_is_recommended_by_the_card(
    answer: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two cards are listed; the first one is meant, as in all commands."""
    driver(tmp_path, f"echo '{answer}'; echo 'NVIDIA T4, 7.5, 580.95.05'", monkeypatch)
    finding = check_gpu()
    name, capability, version = answer.split(", ")
    assert finding.good
    assert finding.found.startswith(f"{name}, compute capability {capability}, driver {version}: ")
    assert advice in finding.found


def test_a_driver_that_is_too_old_for_warp_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warp would have no GPU then, although the card could have it."""
    driver(tmp_path, "echo 'NVIDIA GeForce RTX 4090, 8.9, 550.163.01'", monkeypatch)
    finding = check_gpu()
    assert not finding.good
    assert "driver 550.163.01: PyPI's Warp needs driver 580 or newer; or" in finding.found
    assert finding.fix == "sudo apt install nvidia-driver-580"


def test_without_a_driver_the_processor_is_recommended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = check_gpu()
    assert not finding.good
    assert finding.fix == "solo-collect --sim mujoco"


@pytest.mark.parametrize(
    "script", ["exit 9", "echo 'No devices were found'", "true", "echo 'T4, 7.5, [N/A]'"]
)
def test_a_driver_without_a_card_is_reported(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver(tmp_path, script, monkeypatch)
    finding = check_gpu()
    assert not finding.good
    assert "NVIDIA driver" in finding.found
    assert finding.fix == "nvidia-smi"
