"""How skills are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from solo_doi.common.errors import SoloError

from .metrics.walk import SETTLED

COMMANDED = 1.0
"""Forward velocity that skills were collected and are evaluated at [m/s]."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Rollouts without exploration noise, every skill and the expert in the same domains."""

    sim: Literal["mujoco", "pybullet"] = "mujoco"
    """Simulator of the main table."""
    randomisation: Literal["none", "paper", "robust"] = "paper"
    """Domains of the main table."""
    episodes: int = 30
    """Rollouts per skill."""
    steps: int = 250
    """Control steps per rollout."""
    seed: int = 0
    """Same seed, same domains: skills are compared in pairs."""
    transfer: bool = False
    """Also roll out in both simulators, nominal and randomised, base known and estimated: the transfer table."""
    estimator_episodes: int = 10
    """Rollouts per skill with the deployed estimator in the loop, at its 1 kHz: slow."""
    history: bool = False
    """Also clone policies at the run's checkpoints, from its data, and show returns over training."""
    pictures: bool = True
    """Draw figures and film strips, and write the report."""

    def check(self) -> None:
        """Refuse what cannot be measured."""
        if self.steps < 2 * SETTLED:
            raise SoloError(
                f"{self.steps} steps are too short to tell a gait: expected at least {2 * SETTLED}."
            )
        if self.seed < 0:
            raise SoloError(f"Seed {self.seed}: expected 0 or more.")
        if self.episodes < 4:
            raise SoloError(
                f"{self.episodes} episodes are too few to tell skills apart: expected at least 4."
            )
        if self.estimator_episodes < 1:
            raise SoloError(
                f"{self.estimator_episodes} rollouts with the estimator: expected 1 or more."
            )


def is_bundle(path: Path) -> bool:
    """Whether a path names a bundle of solo-export rather than a run of solo-train."""
    return path.suffix == ".onnx"
