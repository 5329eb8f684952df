"""Animation of recorded robots side by side, small enough to be embedded in a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT

from .render import render

TILE_SIZE = (150, 200)
"""Height and width of one robot's picture [pixels]."""
ROBOTS_PER_ROW = 3
"""Robots in a row of a report's animation, so that they can be seen on a phone."""
PICTURE_STEP = 3
"""Control steps between two pictures of a report's animation: 17 pictures per second."""
MOST_PICTURES = 17
"""Pictures of a report's animation, about one second."""


def animate(films: Mapping[str, Recording], path: Path) -> Path:
    """Write the last second of recordings as an animated WebP with a title in each picture."""
    steps = min(len(film.position_w) for film in films.values())
    moments = np.arange(-PICTURE_STEP * min(MOST_PICTURES, steps // PICTURE_STEP), 0, PICTURE_STEP)
    frames = frames_of(films, moments, ROBOTS_PER_ROW, shadows=False)
    write_frames(frames, path, PICTURE_STEP)
    return path


def frames_of(
    films: Mapping[str, Recording], moments: np.ndarray, columns: int, *, shadows: bool = True
) -> list[Image.Image]:
    """Return one picture per moment, with a tile for the first robot of each recording.

    Rows of pictures have `columns` tiles. Tiles without a robot are white.
    """
    tiles = [render(film, 0, moments, TILE_SIZE, shadows=shadows) for film in films.values()]
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    height, width = TILE_SIZE
    frames = []
    for moment in range(len(moments)):
        frame = Image.new("RGB", (columns * width, rows * height), "white")
        draw = ImageDraw.Draw(frame)
        for number, title in enumerate(films):
            row, column = divmod(number, columns)
            corner = (column * width, row * height)
            frame.paste(Image.fromarray(tiles[number][moment]), corner)
            draw.text((corner[0] + 6, corner[1] + 4), title, fill="black")
        frames.append(frame)
    return frames


def write_frames(frames: list[Image.Image], path: Path, stride: int, quality: int = 55) -> None:
    """Write an animated WebP that repeats for ever, in real time.

    `stride` is the number of control steps between two pictures.
    """
    first, *others = frames
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=round(1000 * stride * CONTROL_DT),
        loop=0,
        quality=quality,
        method=6,
    )
