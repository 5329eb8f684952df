"""A folder of files with module names, each of which records its execution."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGES = (
    "collect",
    "deploy",
    "lcm",
    "numpy",
    "onnxruntime",
    "rich",
    "sitecustomize",
    "solo_doi",
    "solo_isaac",
    "torch",
    "tyro",
    "usercustomize",
    "yaml",
)
"""Names of hostile files in addition to those of the standard library."""
PROGRAM = """
with open({record!r}, "a") as file:
    file.write({name!r} + "\\n")
raise ImportError("{name}: hostile file in the current directory")
"""


class HostileFolder:
    """A working directory for child processes under test."""

    def __init__(self, folder: Path) -> None:
        """Write one file per module."""
        self.path = folder / "hostile"
        self.path.mkdir()
        self._record = folder / "executed.txt"
        for name in (*sys.stdlib_module_names, *PACKAGES):
            text = PROGRAM.format(record=str(self._record), name=name)
            (self.path / f"{name}.py").write_text(text)

    def executed(self) -> set[str]:
        """Return the names of hostile files that any process has run."""
        if not self._record.exists():
            return set()
        return set(self._record.read_text().split())
