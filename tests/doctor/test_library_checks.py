"""Checks of the library's environment."""

from __future__ import annotations

import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from solo_doi.doctor import library_checks
from solo_doi.doctor.library_checks import CHECKS, check_disk, check_pybullet, check_python

Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("version", "good", "note"), [((3, 9), False, ""), ((3, 10), True, "only"), ((3, 12), True, "")]
)
def test_old_pythons_are_found(version: tuple[int, int], good: bool, note: str) -> None:
    finding = check_python(version)
    assert finding.good is good
    assert finding.found.endswith(note)
    assert bool(finding.fix) is not good


@pytest.mark.parametrize(("free", "good"), [(4.9e9, False), (5.1e9, True)])
def test_a_full_disk_is_found(
    free: float, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(1e12, 0, free))
    finding = check_disk(tmp_path)
    assert finding.good is good
    assert f"{free / 1e9:.1f} GB free in {tmp_path}" in finding.found
    assert bool(finding.fix) is not good


def test_newer_pythons_use_mujoco_instead_of_pybullet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    finding = check_pybullet()
    assert not finding.good
    assert finding.fix.startswith("solo-deploy --robot mujoco")


def test_every_part_of_the_library_has_a_line() -> None:
    names = [check.name for check in CHECKS]
    assert {"Python", "disk", "torch", "mujoco", "pybullet", "EGL", "warp", "onnxruntime"} <= {
        *names
    }
    assert len(names) == len({*names})


@pytest.mark.parametrize("name", ["Python", "mujoco"])
def test_this_environment_is_good(name: str) -> None:
    (check,) = [check for check in CHECKS if check.name == name]
    assert check.look().good
    assert "train" in check.needed_for


def test_pybullet_is_needed_where_it_has_wheels() -> None:
    (check,) = [check for check in CHECKS if check.name == "pybullet"]
    expected = sys.version_info[:2] <= library_checks.NEWEST_PYBULLET_PYTHON
    assert ("deploy" in check.needed_for) is expected


def test_warp_has_one_line_with_its_devices() -> None:
    """Warp's own greeting has five lines. Without a GPU, the line says why."""
    pytest.importorskip("mujoco_warp")
    (check,) = [check for check in CHECKS if check.name == "warp"]
    finding = check.look()
    assert finding.good
    assert finding.found.count("\n") == 0
    assert ", cpu" in finding.found
    assert "cuda:0" in finding.found or "CUDA" in finding.found
