"""Pictures of recorded motion: foot contacts over time, and the robot itself."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no screen is needed
import matplotlib.pyplot as plt
import numpy as np

from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.constants import CONTROL_DT, LEG_NAMES

from .figures import save
from .render import render

# Order from top to bottom in which diagonal pairs stand next to each other: a trot is seen at once.
DIAGONALS = ("FL", "HR", "FR", "HL")


def gait_diagram(
    recordings: dict[str, Recording], path: Path, *, robot: int = 0, seconds: float = 2.0
) -> Path:
    """Draw when each foot of one robot is on the ground, the last seconds of each recording below one another.

    Writes NAME.png, NAME.svg and, with the times each foot came down and went up [s], NAME.csv; returns the PNG.
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
            change = np.diff(contact[:, LEG_NAMES.index(leg)].astype(int), prepend=0, append=0)
            times = zip(
                np.flatnonzero(change > 0) * CONTROL_DT,
                np.flatnonzero(change < 0) * CONTROL_DT,
                strict=True,
            )
            stances = [(float(down), float(up)) for down, up in times]
            bars = [(down, up - down) for down, up in stances]
            axis.broken_barh(bars, (row - 0.4, 0.8), color="#1f77b4" if row < 2 else "#ff7f0e")
            rows += [[title, leg, f"{down:.3f}", f"{up:.3f}"] for down, up in stances]
        axis.set(
            yticks=range(len(DIAGONALS)), yticklabels=DIAGONALS, xlim=(0, seconds), ylim=(3.5, -0.5)
        )
        axis.set_title(title, fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("time [s]")
    return save(figure, path, ["recording", "foot", "down_s", "up_s"], rows)


def filmstrip(
    recordings: dict[str, Recording], path: Path, *, robot: int = 0, frames: int = 6
) -> None:
    """Draw one stride and a bit of each recording as a row of pictures, seen from the side."""
    rows = [
        np.concatenate(render(recording, robot, np.arange(-6 * frames, 0, 6)[:frames]), axis=1)
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
