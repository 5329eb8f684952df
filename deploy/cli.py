"""solo-deploy: run skills on a robot, simulated or real."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from solo_doi import config as configuration
from solo_doi.errors import SoloError, one_line

from .config import DeployConfig

SWITCHES = ("fast", "headless", "readonly", "force", "mock", "realtime", "dead-man")


@dataclass(frozen=True, kw_only=True)
class DeployCommand(DeployConfig):
    """Stand up, walk with a skill, stop, lie down: on a simulated robot, or later on the real one.

    Examples: `solo-deploy --skill 2 --robot pybullet --headless` is the dry run: robot and controller are two
    processes that talk LCM, as on the robot; `--fast` runs it in lock-step, with the same numbers every time;
    `solo-deploy --operator keyboard` lets you drive; `solo-deploy --then 3 4` switches skills while walking.
    `solo-deploy keygen FILE` draws the secret that commands to a real robot are signed with.
    The exit code is 0 only if nothing went wrong and the robot walked.
    """

    out: Path | None = None
    """Where log, report and picture go; runs/deploy-DATE-TIME by default. Must not exist."""
    mock: bool = False
    """Short for --robot mock."""
    realtime: bool = False
    """The default, said aloud: on the wall clock, not --fast."""


def main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-deploy"):
        if sys.argv[1:2] == ["keygen"]:
            keygen(sys.argv[2:])
        else:
            command = configuration.from_command_line(DeployCommand, "solo-deploy", switches=SWITCHES)
            sys.exit(deploy(command))


def keygen(words: list[str]) -> None:
    """Draw a secret that commands are signed with."""
    from .messages.auth import write_key

    if len(words) != 1 or words[0].startswith("-"):
        raise SoloError("keygen takes the file to write, such as: solo-deploy keygen ~/.solo12.key")
    path = Path(words[0]).expanduser()
    write_key(path)
    print(f"{path}: a new key. Whoever can read it can move the robot; name it with --key on robot and operator side.")


def deploy(command: DeployCommand) -> int:
    """Run a deployment; return 0 if nothing went wrong and the robot walked."""
    from .supervisor import supervise  # after the flags are checked

    config = DeployConfig(**{field.name: getattr(command, field.name) for field in fields(DeployConfig)})
    if command.mock:
        config = replace(config, robot="mock")
    if command.realtime and command.fast:
        raise SoloError("--realtime and --fast exclude each other.")
    out = command.out or Path("runs") / f"deploy-{datetime.now():%Y%m%d-%H%M%S}"
    if out.exists():
        raise SoloError(f"{out}: exists already. Choose another --out.")
    return supervise(config, out)
