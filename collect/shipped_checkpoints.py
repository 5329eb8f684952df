"""Checkpoints that come with the package."""

from __future__ import annotations

from pathlib import Path

from solo_doi.common.errors import UnknownNameError

FOLDER = Path(__file__).parent / "checkpoints"


def shipped_checkpoints(task: str) -> Path:
    """Return the folder with the checkpoints of a task."""
    folder = FOLDER / task
    if not folder.is_dir():
        shipped = []
        if FOLDER.is_dir():
            shipped = [path.name for path in FOLDER.iterdir()]
        raise UnknownNameError(
            "task with shipped checkpoints (name a folder with --checkpoints)", task, shipped
        )
    return folder
