"""solo-deploy calibrate: measure the index pulses of a robot's encoders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deploy.common.deploy_config import DeployConfig


@dataclass(frozen=True, kw_only=True)
class CalibrateCommand:
    """Measure the index pulses of a Solo12's encoders, twice, and store the calibration.

    Hang the robot up first: its legs will move slowly, legs before hips. Ctrl-C damps the motors
    at any moment.

    Examples:
      solo-deploy calibrate --interface CARD
      solo-deploy calibrate --robot virtual --fast --yes --out robot.json
    """

    out: Path | None = None
    """File for the result; by default the one that `--robot real` reads. See --force."""
    robot: Literal["real", "virtual"] = "real"
    """The real Solo12, or a virtual master board with a simulated Solo12."""
    interface: str | None = None
    """Network card that the master board is plugged into."""
    driver: Literal["native", "sdk"] = "native"
    """Driver of the master board: ours (protocols 3 and 4), or the vendor's library (3)."""
    robot_python: Path | None = None
    """Interpreter made by `solo-deploy install-robot` (default: this one)."""
    protocol: Literal[3, 4] = 4
    """Protocol of the virtual master board; detected on hardware."""
    fast: bool = False
    """Virtual board: run in lock-step, as fast as possible."""
    yes: bool = False
    """Virtual board: ask no questions."""
    force: bool = False
    """Replace an existing file."""
    seed: int = 0
    """Random seed of the simulated robot."""


def calibrate(command: CalibrateCommand) -> None:
    """Measure and store a calibration."""
    from deploy.service.calibrate import measure

    config = DeployConfig(
        robot=command.robot,
        interface=command.interface,
        driver=command.driver,
        protocol=command.protocol,
        fast=command.fast,
        seed=command.seed,
        robot_python=command.robot_python,
    )
    measure(config, command.out, yes=command.yes, force=command.force)
