"""Record of the software and the simulator that a pre-training run was made with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason, write_text
from solo_doi.common.provenance import software
from solo_doi.sim import Simulator

from .pretrain_files import PretrainFiles


def write_record(run: Path, simulator: Simulator) -> None:
    """Write the record; a continued run keeps that of its beginning and adds its own."""
    path = PretrainFiles(run).provenance
    engine = {"name": simulator.name, **simulator.provenance}
    content: dict[str, Any] = {"software": software(), "simulator": engine}
    if path.is_file():
        content = {**_read(path), "continued_with": content}
    write_text(path, json.dumps(content, indent=1) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:  # ValueError also for bytes that are not UTF-8
        raise SoloError(
            f"{path}: cannot be read ({reason(error)}). Delete it, it is written again."
        ) from error
    if not isinstance(content, dict):
        raise SoloError(
            f"{path}: holds a {type(content).__name__}, expected the record of a run. Delete it, "
            "it is written again."
        )
    return content
