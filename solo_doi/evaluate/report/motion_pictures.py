"""Pictures of recorded motion: gait diagram and film strip."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # draws without a screen
import matplotlib.pyplot as plt
import numpy as np

from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT, LEG_NAMES

from .figures import save
from .render import render

DIAGONALS = ("FL", "HR", "FR", "HL")
"""Feet from top to bottom. Diagonal pairs are adjacent, so that a trot is easy to see."""
FILM_STEP = 6
"""Control steps between two pictures of a film strip."""


def gait_diagram(
    recordings: dict[str, Recording], path: Path, *, robot: int = 0, seconds: float = 2.0
) -> Path:
    """Draw the ground contacts of one robot's feet in the last seconds of each recording.

    Writes NAME.png, NAME.svg and NAME.csv (touch-down and lift-off times [s]); returns the PNG.
    """
    figure, axes = plt.subplots(
        len(recordings),
        1,
        figsize=(8, 1.1 * len(recordings) + 0.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    rows = []
    for axis, (title, recording) in zip(axes[:, 0], recordings.items(), strict=True):
        contact = recording.foot_contact[-round(seconds / CONTROL_DT) :, robot]
        for row, leg in enumerate(DIAGONALS):
            bars = []
            for down, up in _stances(contact[:, LEG_NAMES.index(leg)]):
                bars.append((down, up - down))
                rows.append([title, leg, f"{down:.3f}", f"{up:.3f}"])
            axis.broken_barh(bars, (row - 0.4, 0.8), color="#1f77b4" if row < 2 else "#ff7f0e")
        axis.set(
            yticks=range(len(DIAGONALS)), yticklabels=DIAGONALS, xlim=(0, seconds), ylim=(3.5, -0.5)
        )
        axis.set_title(title, fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("time [s]")
    return save(figure, path, ["recording", "foot", "down_s", "up_s"], rows)


def _stances(contact: np.ndarray) -> list[tuple[float, float]]:
    """Return touch-down and lift-off times [s] of one foot, from its contacts (T,)."""
    change = np.diff(contact.astype(int), prepend=0, append=0)
    down = np.flatnonzero(change > 0) * CONTROL_DT
    up = np.flatnonzero(change < 0) * CONTROL_DT
    return list(zip(down.tolist(), up.tolist(), strict=True))


def filmstrip(
    recordings: dict[str, Recording], path: Path, *, robot: int = 0, frames: int = 6
) -> None:
    """Draw slightly more than one stride of each recording as a row of pictures from the side."""
    rows = [
        np.concatenate(
            render(recording, robot, np.arange(-FILM_STEP * frames, 0, FILM_STEP)), axis=1
        )
        for recording in recordings.values()
    ]
    height, width = rows[0].shape[:2]
    figure, axes = plt.subplots(
        len(rows),
        1,
        figsize=(10, 10 * height / width * len(rows)),
        squeeze=False,
        layout="constrained",
    )
    for axis, row, title in zip(axes[:, 0], rows, recordings, strict=True):
        axis.imshow(row)
        axis.set_axis_off()
        if len(rows) > 1:
            axis.text(
                8,
                8,
                title,
                va="top",
                fontsize=9,
                bbox={"facecolor": "white", "alpha": 0.7, "lw": 0},
            )
    figure.savefig(path, dpi=110)
    plt.close(figure)
