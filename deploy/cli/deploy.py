"""solo-deploy: run skills on a robot, simulated or real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from deploy.common.deploy_config import DeployConfig
from deploy.common.signals import Interrupts
from solo_doi.common.command_line import Command, Program, Verb
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.settings import part_of


@dataclass(frozen=True, kw_only=True)
class DeployCommand(DeployConfig):
    """Stand up, walk with a skill, stop and lie down, on a simulated or a real Solo12.

    Robot and controller are two processes that exchange LCM messages, as on the robot. The exit
    code is 0 if there was no fault and the robot walked. Walking is not checked with --mock, with
    --readonly, or if an operator or --distance ends the walk within 1.5 s.

    Examples:
      solo-deploy --skill 2 --robot pybullet --headless          dry run in real time
      solo-deploy --skill 2 --robot pybullet --headless --fast   dry run in lock-step, repeatable
      solo-deploy --skill 2 --headless --fast --video            and a video of it
      solo-deploy --operator keyboard                            drive with the keyboard
      solo-deploy --headless --operator page                     drive in a browser
      solo-deploy --then 3 4                                     switch skills while walking
      solo-deploy --distance 2                                   stop 2 m from the start
      solo-deploy --robot real --interface CARD --distance 2     the real robot
    """

    out: Path | None = None
    """Directory for log, report and picture; runs/deploy-DATE-TIME by default. Must not exist."""
    video: bool = False
    """Draw a video from the log after the run, in MuJoCo: video.webp."""
    mock: bool = False
    """Short for --robot mock."""
    realtime: bool = False
    """Run in real time (the default), not with --fast."""
    check: bool = False
    """Preflight with the motors off, as `solo-deploy check`."""
    yes: bool = False
    """With --check: skip the joint test that needs a person."""


def main() -> None:
    """Run solo-deploy; errors that the user can correct are one line."""
    with one_line("solo-deploy"), Interrupts():
        PROGRAM.run()


def deploy(command: DeployCommand) -> int:
    """Run a deployment; return 0 if there was no fault and the robot walked."""
    # Heavy imports come after the flags are checked.
    from deploy.launch.preflight import with_calibration_path
    from deploy.launch.supervisor import supervise
    from deploy.robots.registry import kind_of

    config = part_of(command, DeployConfig)
    if command.mock:
        config = replace(config, robot="mock")
    config = with_calibration_path(config)
    if command.realtime and command.fast:
        raise SoloError("--realtime and --fast exclude each other.")
    if command.check and command.readonly:
        raise SoloError("--check and --readonly exclude each other.")
    if command.check:
        from deploy.service.check import run_preflight_check

        return run_preflight_check(config, yes=command.yes)
    if config.readonly and kind_of(config).has_master_board:
        from deploy.service.monitor import watch

        return watch(config)
    out = command.out or Path("runs") / f"deploy-{datetime.now():%Y%m%d-%H%M%S}"
    if out.exists():
        raise SoloError(f"{out}: exists already. Choose another --out.")
    if not command.video:
        return supervise(config, out)
    from deploy.cli.video import need_renderer, write_video

    need_renderer()
    code = supervise(config, out)
    print(f"video: {write_video(out)}")
    return code


def _deploy() -> Command[DeployCommand]:
    return Command(DeployCommand, deploy)


def _check() -> Command[Any]:
    from deploy.cli.check import CheckCommand, check

    return Command(CheckCommand, check)


def _calibrate() -> Command[Any]:
    from deploy.cli.calibrate import CalibrateCommand, calibrate

    return Command(CalibrateCommand, calibrate)


def _replay() -> Command[Any]:
    from deploy.cli.replay import ReplayCommand, replay_log

    return Command(ReplayCommand, replay_log)


def _view() -> Command[Any]:
    from deploy.cli.view import ViewCommand, view_log

    return Command(ViewCommand, view_log)


def _record_wire() -> Command[Any]:
    from deploy.cli.record_wire import RecordWireCommand, record_wire

    return Command(RecordWireCommand, record_wire)


def _convert_wire() -> Command[Any]:
    from deploy.cli.convert_wire import ConvertWireCommand, convert_wire

    return Command(ConvertWireCommand, convert_wire)


def _keygen() -> Command[Any]:
    from deploy.cli.keygen import KeygenCommand, keygen

    return Command(KeygenCommand, keygen)


def _install_robot() -> Command[Any]:
    from deploy.cli.install_robot import InstallRobotCommand, install_robot

    return Command(InstallRobotCommand, install_robot)


PROGRAM = Program(
    "solo-deploy",
    _deploy,
    (
        Verb("check", "Preflight of a real or virtual robot, motors off: go or no-go.", _check),
        Verb("calibrate", "Measure the encoders' index pulses.", _calibrate),
        Verb("replay", "Run the controller again on a recorded log.", _replay),
        Verb("view", "Show a recorded log in a browser.", _view),
        Verb("record-wire", "Record the packets on the master board's cable.", _record_wire),
        Verb("convert-wire", "Convert a recording of the cable for viewers.", _convert_wire),
        Verb("keygen", "Draw the secret that signs commands to a real robot.", _keygen),
        Verb("install-robot", "Make the environment of a robot's computer.", _install_robot),
    ),
)
