"""Settings of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from solo_doi.common.errors import SoloError
from solo_doi.runs.run_files import CHECKPOINT_SUFFIX

COMMANDED = 1.0
"""Forward velocity command of the data and of the evaluation [m/s]."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    """Settings of an evaluation.

    No exploration noise; all skills and the expert run in the same domains.
    """

    sim: Literal["mujoco", "pybullet", "warp"] = "mujoco"
    """Simulator of the main table."""
    randomisation: Literal["none", "paper", "robust"] = "paper"
    """Preset of random domains of the main table."""
    episodes: int = 120
    """Rollouts per skill. The test for two gaits in one skill needs 100 or more without a fall."""
    steps: int = 250
    """Control steps per rollout. The default is that of walks; other tasks have their own."""
    seed: int = 0
    """Seed of the domains; skills are compared in the same domains."""
    transfer: bool = False
    """Also make the transfer table: both simulators, nominal and randomised domains, base velocity
    known and estimated."""
    transfer_episodes: int = 30
    """Rollouts per skill and condition of the transfer table with the base known."""
    estimator_episodes: int = 10
    """Rollouts per skill of the transfer table with the deployed estimator in the loop (slow, 1
    kHz)."""
    divergence: bool = True
    """Also measure the divergence of each policy's states from the expert's, if the data of the run
    exist. Needs as many rollouts again. An earlier result of the same settings is kept."""
    history: bool = False
    """Also clone a policy at every checkpoint of the run, from its data, and show returns over
    training."""
    pictures: bool = True
    """Draw figures and film strips, and write the report."""

    def check(self) -> None:
        """Refuse settings that cannot be measured."""
        from .metrics.walk import SETTLED  # slow, and not needed for --help

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
        if self.transfer_episodes < 1:
            raise SoloError(
                f"{self.transfer_episodes} rollouts of the transfer table: expected 1 or more."
            )


def is_bundle(path: Path) -> bool:
    """Return True if a path names a bundle of solo-export."""
    return path.suffix == ".onnx"


def is_checkpoint(path: Path) -> bool:
    """Return True if a path names a checkpoint of solo-pretrain."""
    return path.suffix == CHECKPOINT_SUFFIX


def is_run(path: Path) -> bool:
    """Return True if a path names a run of solo-train, a directory."""
    return not is_bundle(path) and not is_checkpoint(path)
