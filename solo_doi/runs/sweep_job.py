"""One run of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .run_files import RunFiles


@dataclass(frozen=True)
class Job:
    """One run of the grid."""

    variant: str
    settings: dict[str, Any]
    run: Path

    @property
    def finished(self) -> bool:
        """Whether the run has written its summary, which comes last."""
        return RunFiles(self.run).summary.is_file()

    @property
    def settings_file(self) -> Path:
        """What the run is started with."""
        return self.run.with_name(f"{self.run.name}.yaml")

    @property
    def log_file(self) -> Path:
        """What it prints."""
        return self.run.with_name(f"{self.run.name}.log")
