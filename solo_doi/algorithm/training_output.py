"""Interfaces of training to its surroundings: storage of results, and display of progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.policies.skill_policy import SkillPolicy

Advance = Callable[[dict[str, float]], None]
"""Called with the losses of every update."""
STATE_VERSION = 3
"""Version of the saved state; others are refused."""


@dataclass(frozen=True)
class SavedState:
    """State of training after an outer step."""

    content: dict[str, Any]
    """Nested dictionaries of tensors and numbers."""
    source: str = "saved state"
    """Place it was read from, for error messages."""

    def check_version(self) -> None:
        """Refuse the state of another version.

        Raises:
            SoloError: Training cannot continue from this state.
        """
        found = self.content.get("version", 1)
        if found != STATE_VERSION:
            raise SoloError(
                f"{self.source}: saved by another version of solo-train ({found}, expected "
                f"{STATE_VERSION}), which it cannot continue from. Train the run again, or use the "
                "version in the run's provenance."
            )


class RunWriter(Protocol):
    """Storage of one run. Every write is complete or leaves the previous content."""

    def write_expert(self, tensors: dict[str, Tensor]) -> None:
        """Keep the recovered expert, to continue from."""

    def read_expert(self) -> dict[str, Tensor]:
        """Read what `write_expert` wrote."""

    def write_state(self, state: SavedState) -> None:
        """Replace the state to continue from."""

    def read_state(self) -> SavedState | None:
        """Read the state to continue from; None before the first was written."""

    def write_checkpoint(self, outer: int, state: SavedState) -> None:
        """Keep the state after an outer step, for evaluation."""

    def write_ratios(self, expert: Tensor, skills: Tensor) -> None:
        """Write log ratios of the expert (N,) and of the skills (Z, N)."""

    def write_policies(self, expert: SkillPolicy, skills: SkillPolicy) -> None:
        """Write both policies."""

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write the results; the last write of a run."""


class TrainingLog(Protocol):
    """Receiver of progress, metrics and warnings."""

    def stage(self, name: str, steps: int) -> None:
        """Start a stage of so many steps."""

    def advance(self, losses: dict[str, float]) -> None:
        """Record one update of the stage."""

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Record outer step `number`, counted from 1."""

    def warn(self, text: str) -> None:
        """Show a warning to the user."""
