"""Settings of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from solo_doi.common.errors import SoloError

from .metrics.walk import SETTLED

COMMANDED = 1.0
"""Forward velocity command of the data and of the evaluation [m/s]."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Settings of an evaluation.

    No exploration noise; all skills and the expert run in the same domains.
    """

    sim: Literal["mujoco", "pybullet"] = "mujoco"
    """Simulator of the main table."""
    randomisation: Literal["none", "paper", "robust"] = "paper"
    """Preset of random domains of the main table."""
    episodes: int = 30
    """Rollouts per skill."""
    steps: int = 250
    """Control steps per rollout."""
    seed: int = 0
    """Seed of the domains; skills are compared in the same domains."""
    transfer: bool = False
    """Also make the transfer table: both simulators, nominal and randomised domains, base velocity
    known and estimated."""
    estimator_episodes: int = 10
    """Rollouts per skill of the transfer table with the deployed estimator in the loop (slow, 1
    kHz)."""
    history: bool = False
    """Also clone a policy at every checkpoint of the run, from its data, and show returns over
    training."""
    pictures: bool = True
    """Draw figures and film strips, and write the report."""

    def check(self) -> None:
        """Refuse settings that cannot be measured."""
        if self.steps < 2 * SETTLED:
            raise SoloError(
                f"{self.steps} steps are too short to measure a gait: "
                f"expected at least {2 * SETTLED}."
            )
        if self.seed < 0:
            raise SoloError(f"Seed {self.seed}: expected 0 or more.")
        if self.episodes < 4:
            raise SoloError(
                f"{self.episodes} episodes are too few to compare skills: expected at least 4."
            )
        if self.estimator_episodes < 1:
            raise SoloError(
                f"{self.estimator_episodes} rollouts with the estimator: expected 1 or more."
            )


def is_bundle(path: Path) -> bool:
    """Return True if a path names a bundle of solo-export, False if a run of solo-train."""
    return path.suffix == ".onnx"
