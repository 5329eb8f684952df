"""Animation of several recordings, as a report embeds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from solo_doi.evaluate.report import side_by_side
from solo_doi.evaluate.report.html_report import Report
from tests.evaluate.recordings import walking

from .test_html_report import assert_self_contained

pytestmark = pytest.mark.usefixtures("egl")


def test_robots_walk_in_rows_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second row of four robots has one of them; the rest of it is white."""
    monkeypatch.setattr(side_by_side, "MOST_PICTURES", 2)
    films = {name: walking("trot") for name in ("skill 0", "skill 1", "skill 2", "expert")}
    path = side_by_side.animate(films, tmp_path / "walks.webp")
    height, width = side_by_side.TILE_SIZE
    with Image.open(path) as image:
        assert image.n_frames == 2
        assert image.size == (3 * width, 2 * height)
        picture = image.convert("RGB")
    assert picture.getpixel((width // 2, height + 10)) != (255, 255, 255)
    assert picture.getpixel((2 * width, height + 10)) == (255, 255, 255)


def test_a_recording_that_is_shorter_than_the_animation_is_shown_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "TILE_SIZE", (16, 16))
    film = walking("trot", steps=2 * side_by_side.PICTURE_STEP + 1)
    with Image.open(side_by_side.animate({"skill 0": film}, tmp_path / "walks.webp")) as image:
        assert image.n_frames == 2


def test_an_animation_is_embedded_in_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "MOST_PICTURES", 1)
    path = side_by_side.animate({"skill 0": walking("trot")}, tmp_path / "walks.webp")
    report = Report("Walks")
    report.figure(path, "Walks.")
    report.write(tmp_path / "report.html")
    assert_self_contained(tmp_path / "report.html")
    assert "data:image/webp;base64," in (tmp_path / "report.html").read_text()
