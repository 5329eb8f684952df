"""Results and states of training as files of a run directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from solo_doi.algorithm.training_output import SavedState
from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason, write_hdf5, write_text, write_torch
from solo_doi.policies.skill_policy import SkillPolicy

from .run_files import RunFiles

RATIOS_OF_EXPERT = "log_w_expert"
RATIOS_OF_SKILLS = "log_w_skills"
"""Arrays of the ratios file."""
MEANING_OF_RATIOS = "log of weights that sum to 1 over the transitions, in the order of the data"


class RunStore:
    """Storage of a run as files; implements `RunWriter` of `solo_doi.algorithm.training_output`."""

    def __init__(self, run: Path) -> None:
        """Use a run directory. Nothing is written before the first result."""
        self.files = RunFiles(run)

    def write_expert(self, tensors: dict[str, Tensor]) -> None:
        """Keep the recovered expert, to continue from."""
        write_torch(self.files.recovered_expert, tensors)

    def read_expert(self) -> dict[str, Tensor]:
        """Read what `write_expert` wrote."""
        return _load(self.files.recovered_expert, "Train the run again.")

    def write_state(self, state: SavedState) -> None:
        """Replace the state to continue from."""
        write_torch(self.files.state, state.content)

    def read_state(self) -> SavedState | None:
        """Read the state to continue from; None before the first was written."""
        path = self.files.state
        if not path.is_file():
            return None
        return SavedState(_load(path, "Delete it and start over with --resume."), str(path))

    def write_checkpoint(self, outer: int, state: SavedState) -> None:
        """Keep the state after an outer step, for evaluation."""
        write_torch(self.files.checkpoint(outer), state.content)

    def read_checkpoint(self, outer: int) -> SavedState:
        """Read what `write_checkpoint` wrote."""
        path = self.files.checkpoint(outer)
        return SavedState(_load(path, "Train the run again."), str(path))

    def write_ratios(self, expert: Tensor, skills: Tensor) -> None:
        """Write log ratios of the expert (N,) and of the skills (Z, N)."""
        arrays = {
            RATIOS_OF_EXPERT: expert.cpu().numpy(),
            RATIOS_OF_SKILLS: skills.cpu().numpy(),
        }
        write_hdf5(self.files.ratios, arrays, {"meaning": MEANING_OF_RATIOS})

    def write_policies(self, expert: SkillPolicy, skills: SkillPolicy) -> None:
        """Write both policies."""
        expert.write(self.files.expert)
        skills.write(self.files.policy)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the results, which mark the run as finished."""
        write_text(self.files.summary, json.dumps(summary, indent=1) + "\n")


def _load(path: Path, remedy: str) -> dict[str, Any]:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes make the unpickler raise nearly anything
        raise SoloError(f"{path}: cannot be read ({reason(error)}). {remedy}") from error
