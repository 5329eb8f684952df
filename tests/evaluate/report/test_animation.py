"""Animation of all skills of a bundle side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from solo_doi.evaluate.report import animation, side_by_side

pytestmark = pytest.mark.usefixtures("egl")


def test_the_shipped_skills_walk_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every picture shows five robots, and a walking robot changes from one to the next."""
    monkeypatch.setattr(animation, "WARM_UP", 5)
    path = tmp_path / "skills.webp"
    monkeypatch.setattr(sys, "argv", ["animation", str(path), "--frames", "2"])
    animation.main()
    with Image.open(path) as image:
        height, width = side_by_side.TILE_SIZE
        assert image.size == (5 * width, height)
        assert image.n_frames == 2
        first = image.convert("RGB").tobytes()
        image.seek(1)
        assert image.convert("RGB").tobytes() != first
