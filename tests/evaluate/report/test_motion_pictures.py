"""Pictures of motion: written files that are not blank."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.evaluate.report.motion_pictures import DIAGONALS, filmstrip, gait_diagram
from solo_doi.evaluate.report.render import render
from solo_doi.sim import Terrain
from tests.evaluate.recordings import walking

BLUE, ORANGE = (0x1F / 255, 0x77 / 255, 0xB4 / 255), (1.0, 0x7F / 255, 0x0E / 255)


def pixels(path: Path) -> np.ndarray:
    """Return the colours of a picture, (height, width, 3)."""
    return np.asarray(matplotlib.image.imread(path))[..., :3]


def share(picture: np.ndarray, colour: tuple[float, float, float]) -> float:
    """Return the share of a picture that has a colour."""
    return float((np.abs(picture - np.array(colour)).max(axis=-1) < 0.02).mean())


def test_a_gait_diagram_shows_both_diagonals(tmp_path: Path) -> None:
    """Bars of a trot have two colours with equal areas."""
    path = tmp_path / "gait.png"
    gait_diagram({"trot": walking("trot")}, path)
    picture = pixels(path)
    assert picture.shape[0] > 100
    assert picture.shape[1] > 500
    assert 0.05 < share(picture, BLUE) < 0.5
    assert share(picture, ORANGE) == pytest.approx(share(picture, BLUE), rel=0.3)


def test_diagonal_feet_are_drawn_next_to_each_other() -> None:
    """Adjacent rows make a trot easy to see."""
    assert set(DIAGONALS[:2]) == {"FL", "HR"}
    assert set(DIAGONALS[2:]) == {"FR", "HL"}


def test_a_gait_diagram_has_a_row_per_recording(tmp_path: Path) -> None:
    """The picture grows with each skill, and different gaits look different."""
    for name, gaits in {
        "one": ["trot"],
        "two": ["trot", "pace"],
        "other": ["trot", "bound"],
    }.items():
        gait_diagram({gait: walking(gait) for gait in gaits}, tmp_path / f"{name}.png")
    one, two, other = (pixels(tmp_path / f"{name}.png") for name in ("one", "two", "other"))
    assert two.shape[0] > 1.5 * one.shape[0]
    assert two.shape == other.shape
    assert (two != other).any()


def test_a_robot_that_never_touches_the_ground_has_an_empty_diagram(tmp_path: Path) -> None:
    """There are no bars and no error."""
    recording = walking("trot")
    recording.foot_contact[:] = False
    gait_diagram({"flight": recording}, tmp_path / "gait.png")
    assert share(pixels(tmp_path / "gait.png"), BLUE) == 0.0


def test_a_gait_diagram_has_its_numbers_beside_it(tmp_path: Path) -> None:
    """The CSV file has touch-down and lift-off times [s] from the start of the diagram.

    There is an SVG file, too.
    """
    recording = walking("trot")
    recording.foot_contact[:] = False
    recording.foot_contact[10:30, 0, 0], recording.foot_contact[90:, 0, 3] = True, True
    path = gait_diagram({"skill 0": recording}, tmp_path / "gait")
    assert path == tmp_path / "gait.png"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["gait.csv", "gait.png", "gait.svg"]
    lines = (tmp_path / "gait.csv").read_text().splitlines()
    assert lines == [
        "recording,foot,down_s,up_s",
        "skill 0,FL,0.200,0.600",
        "skill 0,HR,1.800,2.000",
    ]


@pytest.mark.usefixtures("egl")
def test_a_rendered_robot_is_seen_and_moves_with_its_joints() -> None:
    """The picture is not blank. The same pose gives the same picture, another pose another one."""
    recording = walking("trot", steps=3)
    recording.position_w[:] = recording.position_w[0]
    recording.joint_position[2, 0, 1] += 0.5
    first, same, other = render(recording, 0, np.array([0, 1, 2]), size=(60, 80))
    assert first.shape == (60, 80, 3)
    assert first.dtype == np.uint8
    assert first.std() > 10
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@pytest.mark.usefixtures("egl")
def test_the_camera_moves_along() -> None:
    """The dark pixels of a robot ten metres away are in the middle of the picture."""
    recording = walking("trot", steps=2)
    recording.position_w[1, 0, 0] = 10.0
    for picture in render(recording, 0, np.array([0, 1]), size=(60, 80)):
        _, columns = np.nonzero(picture.max(axis=-1) < 100)
        assert len(columns) > 20
        assert abs(columns.mean() - 40) < 10


@pytest.mark.usefixtures("egl")
def test_a_filmstrip_has_a_row_of_pictures_per_recording(tmp_path: Path) -> None:
    """The file is not blank, and is higher with two rows than with one."""
    filmstrip({"trot": walking("trot")}, tmp_path / "one.png", frames=2)
    filmstrip({"trot": walking("trot"), "pace": walking("pace")}, tmp_path / "two.png", frames=2)
    one, two = pixels(tmp_path / "one.png"), pixels(tmp_path / "two.png")
    assert one.std() > 0.05
    assert two.shape[0] == pytest.approx(2 * one.shape[0], rel=0.05)


def test_without_egl_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a driver, the error is one sentence, not a traceback of OpenGL."""
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    with pytest.raises(MissingPackageError, match="apt install libegl1"):
        render(walking("trot", steps=1), 0, np.array([0]))


def test_a_picture_shows_the_boxes() -> None:
    """A box in front of the robot covers a part of the floor."""
    recording = walking("trot")
    position = recording.position_w[0, 0]
    place = position[:2] + np.array([0.5, 0.0])
    terrain = Terrain(place[None, None], np.array([[[0.3, 0.3, 0.2]]]))
    plain = render(recording, 0, np.array([0]))[0].astype(int)
    boxed = render(replace(recording, terrain=terrain), 0, np.array([0]))[0].astype(int)
    changed = (np.abs(plain - boxed).max(axis=-1) > 20).mean()
    assert 0.01 < changed < 0.6
