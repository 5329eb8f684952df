"""Record of the data and software that a run was made with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.provenance import software

from .run_files import RunFiles


def read_provenance(run: Path) -> dict[str, Any]:
    """Read the record of a run; empty if it has none."""
    path = RunFiles(run).provenance
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise SoloError(
            f"{path}: not valid JSON ({error}). If the data are those of the run, delete it."
        ) from error


def write_provenance(run: Path, data: Mapping[str, Any]) -> None:
    """Write the record of data and software.

    A continued run keeps the software that it began with.
    """
    content = dict(data)
    began_with = read_provenance(run).get("software")
    if began_with is None:
        content["software"] = software()
    else:
        content["software"] = began_with
        content["continued_with"] = software()
    write_text(RunFiles(run).provenance, json.dumps(content, indent=1) + "\n")
