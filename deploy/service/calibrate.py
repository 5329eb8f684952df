"""`solo-deploy calibrate`: measure the index pulses of a robot's encoders and store them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deploy.common.deploy_config import DeployConfig
from deploy.robots.odri.bring_up.calibration import default_path, from_json, save
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError
from solo_doi.common.files import check_writable

from .bench_session import check_robot_kind, command_of, follow
from .live_tables import Screen, joints_of_calibration

NOTHING_STORED = "The motors were damped or are off; nothing was stored."


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
    """File for the result (default: where `solo-deploy --robot real` looks). See --force."""
    robot: Literal["real", "virtual"] = "real"
    """The real Solo12, or a virtual master board with a simulated one."""
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


def calibrate(command: CalibrateCommand) -> int:
    """Measure and store a calibration; return 0.

    Raises:
        SoloError: The settings are refused, or the measurement failed; nothing is stored then.
    """
    config = DeployConfig(
        robot=command.robot,
        interface=command.interface,
        driver=command.driver,
        protocol=command.protocol,
        fast=command.fast,
        seed=command.seed,
        robot_python=command.robot_python,
    )
    check_robot_kind(config)
    out = _output_file(command, config)
    if command.out is None:
        out.parent.mkdir(parents=True, exist_ok=True)
    check_writable(out)
    job = command_of("calibrate", config, seconds=0.0, yes=command.yes)
    try:
        with Screen(joints_of_calibration) as screen:
            result = follow(job, screen.show)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(NOTHING_STORED) from None
    except SoloError as error:
        raise SoloError(f"Not calibrated: {error} {NOTHING_STORED}") from error
    calibration = from_json(result)
    save(calibration, out)
    screen.console.print(
        f"{out}: calibration of board {calibration.board}, {calibration.measured} "
        f"({calibration.measured_with}). Use it with: {_next_command(command, out)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return 0


def _output_file(command: CalibrateCommand, config: DeployConfig) -> Path:
    """Return the file for the result; refuse what must not be overwritten or cannot be asked."""
    kind = kind_of(config)
    if command.out is None and not kind.calibration_in_file:
        raise SoloError(
            f"--robot {command.robot} needs --out: the calibration of a simulated robot must not "
            "replace that of a real one."
        )
    out = default_path() if command.out is None else command.out.expanduser()
    if out.exists() and not command.force:
        raise SoloError(f"{out}: exists already. Choose another --out, or replace it with --force.")
    if command.yes and kind.is_real:
        raise SoloError("--yes is for --robot virtual: a real robot needs a person at every step.")
    if not command.yes and not sys.stdin.isatty():
        raise SoloError("calibrate asks questions, and needs a terminal for the answers.")
    return out


def _next_command(command: CalibrateCommand, out: Path) -> str:
    """Return the command that walks with the calibration."""
    words = f"solo-deploy --robot {command.robot}"
    if command.interface is not None:
        words += f" --interface {command.interface}"
    if command.out is not None:
        words += f" --calibration {out}"
    return words
