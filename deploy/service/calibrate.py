"""Measure the index pulses of a robot's encoders and store them."""

from __future__ import annotations

import sys
from pathlib import Path

from deploy.common.deploy_config import DeployConfig
from deploy.robots.odri.bring_up.calibration import default_path, from_json, save
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError
from solo_doi.common.files import check_writable

from .bench_session import check_robot_kind, command_of, follow
from .live_tables import Screen, joints_of_calibration

NOTHING_STORED = "The motors were damped or are off; nothing was stored."


def measure(config: DeployConfig, out: Path | None, *, yes: bool, force: bool) -> None:
    """Measure a calibration and store it in `out`, by default the file of the real robot.

    Args:
        config: The robot, its board and driver.
        out: File for the result.
        yes: Ask no questions.
        force: Replace an existing file.

    Raises:
        SoloError: The settings are refused, or the measurement failed; nothing is stored then.
    """
    check_robot_kind(config)
    path = _output_file(config, out, yes=yes, force=force)
    if out is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    job = command_of("calibrate", config, seconds=0.0, yes=yes)
    try:
        with Screen(joints_of_calibration) as screen:
            result = follow(job, screen.show)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(NOTHING_STORED) from None
    except SoloError as error:
        raise SoloError(f"Not calibrated: {error} {NOTHING_STORED}") from error
    calibration = from_json(result)
    save(calibration, path)
    screen.console.print(
        f"{path}: calibration of board {calibration.board}, {calibration.measured} "
        f"({calibration.measured_with}). Use it with: {_next_command(config, out)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _output_file(config: DeployConfig, out: Path | None, *, yes: bool, force: bool) -> Path:
    """Return the path for the result.

    Refuse an existing file without `force`, and questions without a terminal.
    """
    kind = kind_of(config)
    if out is None and not kind.calibration_in_file:
        raise SoloError(
            f"--robot {config.robot} needs --out: the calibration of a simulated robot must not "
            "replace that of a real one."
        )
    path = default_path() if out is None else out.expanduser()
    if path.exists() and not force:
        raise SoloError(
            f"{path}: exists already. Choose another --out, or replace it with --force."
        )
    if yes and kind.is_real:
        raise SoloError("--yes is for --robot virtual: a real robot needs a person at every step.")
    if not yes and not sys.stdin.isatty():
        raise SoloError("calibrate asks questions, and needs a terminal for the answers.")
    return path


def _next_command(config: DeployConfig, out: Path | None) -> str:
    """Return the command that walks with the calibration."""
    words = f"solo-deploy --robot {config.robot}"
    if config.interface is not None:
        words += f" --interface {config.interface}"
    if out is not None:
        words += f" --calibration {out.expanduser()}"
    return words
