"""Names of the files in a run directory of solo-pretrain. No other module spells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MODEL_SUFFIX = ".pt"
"""Ending of the name of a policy that is kept."""


@dataclass(frozen=True)
class PretrainFiles:
    """Paths of the files of one pre-training run."""

    folder: Path

    @property
    def config(self) -> Path:
        """Resolved configuration; a directory that has it is a run."""
        return self.folder / "config.yaml"

    @property
    def provenance(self) -> Path:
        """Software and simulator that the run was made with."""
        return self.folder / "provenance.json"

    @property
    def state(self) -> Path:
        """Last saved state, to continue from."""
        return self.folder / "state.pt"

    @property
    def checkpoints(self) -> Path:
        """Folder of the policies that are kept."""
        return self.folder / "checkpoints"

    def checkpoint(self, iteration: int) -> Path:
        """Policy that is kept after an iteration, counted from 0 as in the official files."""
        return self.checkpoints / f"model_{iteration}{MODEL_SUFFIX}"
