"""solo-deploy calibrate: guide a person through measuring where a robot's index pulses are, and store the result."""

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

from .bench_session import check_place, command_of, follow
from .live_tables import Screen, joints_of_calibration

NOTHING_STORED = "The motors were damped or are off; nothing was stored."


@dataclass(frozen=True, kw_only=True)
class CalibrateCommand:
    """Measure where the encoders' index pulses of a Solo12 are, twice, and store it for `solo-deploy --calibration`.

    Hang the robot up first: its legs will move, gently, legs before hips. Ctrl-C damps the motors at any moment.

    Examples:
      solo-deploy calibrate --interface CARD
      solo-deploy calibrate --robot virtual --fast --yes --out robot.json
    """

    out: Path | None = None
    """File for the result; where `solo-deploy --robot real` looks, by default. Must not exist, unless --force."""
    robot: Literal["real", "virtual"] = "real"
    """The real Solo12, or a virtual master board with a simulated one."""
    interface: str | None = None
    """Network card that the master board is plugged into."""
    driver: Literal["native", "sdk"] = "native"
    """Way to the master board: our own, for protocols 3 and 4, or the vendor's library, for 3."""
    robot_python: Path | None = None
    """Interpreter that does it, made by `solo-deploy install-robot`; this one by default."""
    protocol: Literal[3, 4] = 4
    """What the virtual master board speaks; a real one is asked."""
    fast: bool = False
    """Virtual board: lock-step, as fast as the machine can."""
    yes: bool = False
    """Virtual board: ask nothing."""
    force: bool = False
    """Replace the file, if there is one."""
    seed: int = 0
    """Of the simulated robot."""


def calibrate(command: CalibrateCommand) -> int:
    """Measure and store; return 0 if there is a calibration now."""
    config = DeployConfig(
        robot=command.robot, interface=command.interface, driver=command.driver, protocol=command.protocol,
        fast=command.fast, seed=command.seed, robot_python=command.robot_python,
    )  # fmt: skip
    check_place(config)
    kind = kind_of(config)
    if command.out is None and not kind.calibration_in_file:
        raise SoloError(
            "--robot virtual needs --out: a simulated robot's calibration must not take a real one's place."
        )
    out = default_path() if command.out is None else command.out.expanduser()
    if out.exists() and not command.force:
        raise SoloError(f"{out}: exists already. Choose another --out, or replace it with --force.")
    if command.yes and kind.is_real:
        raise SoloError("--yes is for --robot virtual: a real robot needs a person at every step.")
    if not command.yes and not sys.stdin.isatty():
        raise SoloError("calibrate asks a person, and needs a terminal for the answers.")
    if command.out is None:
        out.parent.mkdir(parents=True, exist_ok=True)
    check_writable(out)
    try:
        with Screen(joints_of_calibration) as screen:
            found = follow(
                command_of("calibrate", config, seconds=0.0, yes=command.yes), screen.show
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(NOTHING_STORED) from None
    except SoloError as error:
        raise SoloError(f"Not calibrated: {error} {NOTHING_STORED}") from error
    calibration = from_json(found)
    save(calibration, out)
    screen.console.print(
        f"{out}: calibration of board {calibration.board}, {calibration.measured} ({calibration.measured_with}). "
        f"Use it with: {_use(command, out)}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    return 0


def _use(command: CalibrateCommand, out: Path) -> str:
    """The command that walks with a calibration."""
    card = "" if command.interface is None else f" --interface {command.interface}"
    return f"solo-deploy --robot {command.robot}{card}" + (
        "" if command.out is None else f" --calibration {out}"
    )
