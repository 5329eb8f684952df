"""solo-deploy: run skills on a robot, simulated or real."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import tyro

from deploy.common.deploy_config import DeployConfig
from deploy.common.signals import Interrupts
from deploy.install import install_robot
from solo_doi.common import settings
from solo_doi.common.errors import SoloError, one_line

SWITCHES = ("fast", "headless", "readonly", "force", "mock", "realtime", "dead-man", "check", "yes")

KEYGEN_HELP = """usage: solo-deploy keygen FILE

Draw the secret that commands to a real robot are signed with, readable by this user only, such as ~/.solo12.key.
FILE must not exist; name it with --key on the robot's side and on the operator's."""


@dataclass(frozen=True, kw_only=True)
class DeployCommand(DeployConfig):
    """Stand up, walk with a skill, stop, lie down: on a simulated robot or on the real one.

    Examples: `solo-deploy --skill 2 --robot pybullet --headless` is the dry run: robot and controller are two
    processes that talk LCM, as on the robot; `--fast` runs it in lock-step, with the same numbers every time;
    `solo-deploy --operator keyboard` lets you drive; `solo-deploy --then 3 4` switches skills while walking.
    `solo-deploy replay FOLDER` runs the controller again on what was recorded;
    `solo-deploy install-robot` makes the environment of a robot's computer;
    `solo-deploy keygen FILE` draws the secret that commands to a real robot are signed with;
    `solo-deploy calibrate --interface CARD` measures where its encoders' index pulses are.
    The exit code is 0 only if nothing went wrong and the robot walked; --mock, --readonly and people who drive for
    less than 1.5 s are not asked whether it did.
    """

    out: Path | None = None
    """Where log, report and picture go; runs/deploy-DATE-TIME by default. Must not exist."""
    mock: bool = False
    """Short for --robot mock."""
    realtime: bool = False
    """The default, said aloud: on the wall clock, not --fast."""
    check: bool = False
    """Real and virtual robot: go or no-go, with the motors off. 0: all good, 1: no-go, 3: not everything checked."""
    yes: bool = False
    """With --check: ask nobody to move joints; they are then not checked."""


@dataclass(frozen=True)
class ReplayCommand:
    """Run the controller again on the log of a deployment or an incident, and name the first number that differs.

    What the policy sees is compared term by term, then what is commanded; the exit code is 0 if all is the same.
    """

    log: Annotated[Path, tyro.conf.Positional]
    """Folder of the deployment or the incident, or its log."""
    mcap: Path | None = None
    """Also write the log as MCAP, for Foxglove and other viewers."""


def main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-deploy"), Interrupts():
        if sys.argv[1:2] == ["keygen"]:
            keygen(sys.argv[2:])
        elif sys.argv[1:2] == ["calibrate"]:
            from deploy.service.calibrate import CalibrateCommand, calibrate

            sys.exit(
                calibrate(
                    tyro.cli(CalibrateCommand, prog="solo-deploy calibrate", args=sys.argv[2:])
                )
            )
        elif sys.argv[1:2] == ["install-robot"]:
            install_robot.main(sys.argv[2:])
        elif sys.argv[1:2] == ["replay"]:
            sys.exit(
                run_again(tyro.cli(ReplayCommand, prog="solo-deploy replay", args=sys.argv[2:]))
            )
        else:
            command = settings.from_command_line(DeployCommand, "solo-deploy", switches=SWITCHES)
            sys.exit(deploy(command))


def keygen(words: list[str]) -> None:
    """Draw a secret that commands are signed with."""
    from deploy.messages.authentication import write_key

    if {"-h", "--help"} & {*words}:
        print(KEYGEN_HELP)
        return
    if len(words) != 1 or words[0].startswith("-"):
        raise SoloError("keygen takes the file to write, such as: solo-deploy keygen ~/.solo12.key")
    path = Path(words[0]).expanduser()
    write_key(path)
    print(
        f"{path}: a new key. Whoever can read it can move the robot; name it with --key on robot and operator side."
    )


def run_again(command: ReplayCommand) -> int:
    """Replay a log; return 0 if the controller answers as it did."""
    from deploy.logs.controller_replay import find_log, replay
    from deploy.logs.log_picture import draw
    from deploy.logs.mcap_log import export

    log = find_log(command.log)
    if command.mcap is not None:
        print(f"{command.mcap}: {export(log, command.mcap)} messages")
    picture = draw(log.parent)
    if picture is not None:
        print(f"picture: {picture}")
    found = replay(log)
    print(found)
    return 0 if found.difference is None else 1


def deploy(command: DeployCommand) -> int:
    """Run a deployment; return 0 if nothing went wrong and the robot walked, where anybody asks it to."""
    from deploy.launch.preflight import with_calibration_path
    from deploy.launch.supervisor import supervise  # after the flags are checked
    from deploy.robots.registry import kind_of

    config = DeployConfig(
        **{field.name: getattr(command, field.name) for field in fields(DeployConfig)}
    )
    if command.mock:
        config = replace(config, robot="mock")
    config = with_calibration_path(config)
    if command.realtime and command.fast:
        raise SoloError("--realtime and --fast exclude each other.")
    if command.check and command.readonly:
        raise SoloError("--check and --readonly exclude each other.")
    if command.check:
        from deploy.service.check import check_up

        return check_up(config, yes=command.yes)
    if config.readonly and kind_of(config).has_master_board:
        from deploy.service.monitor import watch

        return watch(config)
    out = command.out or Path("runs") / f"deploy-{datetime.now():%Y%m%d-%H%M%S}"
    if out.exists():
        raise SoloError(f"{out}: exists already. Choose another --out.")
    return supervise(config, out)
