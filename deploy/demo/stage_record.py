"""Record of the stages that are done, so that a second demonstration reuses them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.lock import LOCK_FILE

RECORD_FILE = "demo.json"


@dataclass(frozen=True)
class StageEntry:
    """State of one stage."""

    key: str
    """Hash of command, software and the stages before."""
    finished: bool
    seconds: float = 0.0
    """Time that the stage took [s]."""


class StageRecord:
    """Entries by name of the stage, written to the folder at every change."""

    def __init__(self, folder: Path) -> None:
        """Read the record of a folder, or start one in a folder that is empty or new.

        Raises:
            SoloError: The folder has other content, or its record is damaged.
        """
        self._path = folder / RECORD_FILE
        self._entries: dict[str, StageEntry] = {}
        if self._path.is_file():
            self._entries = _read(self._path)
        elif folder.exists() and {path.name for path in folder.iterdir()} - {LOCK_FILE}:
            raise SoloError(
                f"{folder}: has files, but none of a demonstration ({RECORD_FILE}). Choose "
                "another --out, or remove it."
            )

    def entry(self, name: str, key: str) -> StageEntry | None:
        """Return the entry of a stage if it has this key."""
        found = self._entries.get(name)
        if found is None or found.key != key:
            return None
        return found

    def put(self, name: str, entry: StageEntry) -> None:
        """Replace an entry and write the record."""
        self._entries[name] = entry
        content = {name: asdict(entry) for name, entry in self._entries.items()}
        write_text(self._path, json.dumps(content, indent=1) + "\n")


def _read(path: Path) -> dict[str, StageEntry]:
    try:
        content = json.loads(path.read_text())
        return {name: StageEntry(**entry) for name, entry in content.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise SoloError(
            f"{path}: is damaged. Remove {path.parent}, or choose another --out."
        ) from (error)
