"""`python -m solo_doi.sim`: the squat that shows the two engines side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.sim import __main__ as command


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command with arguments, over a part of the motion; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["solo_doi.sim", *arguments])
    monkeypatch.setattr(command, "RECORDING_SECONDS", 1.5)
    return command.main()


def test_it_compares_both_engines_and_draws_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table contains every quantity, and the picture is at the printed path."""
    pytest.importorskip("pybullet")
    picture = tmp_path / "new" / "squat.png"
    assert run(monkeypatch, "--out", str(picture)) == 0
    output = capsys.readouterr().out
    for word in (
        "mujoco",
        "pybullet",
        "height [m]",
        "joints [rad]",
        "torque [N m]",
        "force [N]",
        "speed [m/s]",
    ):
        assert word in output
    assert "squat.png" in output.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_it_shows_mujoco_alone_where_pybullet_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output gives the reason why PyBullet is left out."""
    squat = command.squat

    def without_pybullet(engine: str) -> command.SquatRecording:
        if engine == "pybullet":
            raise MissingPackageError("pybullet", "The PyBullet simulator", "Use MuJoCo.")
        return squat(engine)

    monkeypatch.setattr(command, "squat", without_pybullet)
    assert run(monkeypatch, "--out", str(tmp_path / "squat.png")) == 0
    output = capsys.readouterr().out
    assert "pybullet is left out. The PyBullet simulator needs the package 'pybullet'" in output
    assert "largest difference" not in output
    assert (tmp_path / "squat.png").is_file()
