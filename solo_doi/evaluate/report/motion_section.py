"""Parts of a report that show motion: animation, gait diagram, film strips."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from solo_doi.common.errors import MissingPackageError
from solo_doi.evaluate.rollouts.recording import Recording

from .html_report import Report


def add_animation(report: Report, films: Mapping[str, Recording], out: Path) -> None:
    """Add all walks side by side."""
    from .side_by_side import animate

    try:
        path = animate(films, out / "walks.webp")
    except MissingPackageError as error:  # a machine that cannot render still gets the numbers
        report.text(f"The animation is missing. {error}")
        return
    report.figure(path, "All skills and the expert side by side, in real time, undisturbed.")


def add_gaits(report: Report, films: dict[str, Recording], out: Path) -> None:
    """Add contacts of the feet over time and film strips."""
    from .motion_pictures import filmstrip, gait_diagram

    report.heading("Gaits")
    report.figure(
        gait_diagram(films, out / "gait"),
        "Feet on the ground over time, diagonal pairs in one colour: FL is the front left foot, HR "
        "the hind right one.",
    )
    try:
        filmstrip(films, out / "film.png")
        report.figure(out / "film.png", "One stride of each skill and of the expert, undisturbed.")
    except MissingPackageError as error:  # a machine that cannot render still gets the numbers
        report.text(f"Film strips are missing. {error}")
        print(f"solo-eval: film strips are left out. {error}", file=sys.stderr)
