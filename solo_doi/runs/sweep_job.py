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
    """Name of the variant."""
    settings: dict[str, Any]
    """Settings that differ from the defaults, eps and seed included."""
    run: Path
    """Directory of the run."""

    @property
    def finished(self) -> bool:
        """True if the run has written its summary, which it writes last."""
        return RunFiles(self.run).summary.is_file()

    @property
    def settings_file(self) -> Path:
        """Configuration file that the run is started with."""
        return self.run.with_name(f"{self.run.name}.yaml")

    @property
    def log_file(self) -> Path:
        """Output of the run."""
        return self.run.with_name(f"{self.run.name}.log")
