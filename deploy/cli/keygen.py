"""solo-deploy keygen: draw the secret that signs commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class KeygenCommand:
    """Draw the secret that signs commands to a real robot. Only this user can read it.

    Pass it with --key on the robot's computer and on the operator's.

    Example: solo-deploy keygen ~/.solo12.key
    """

    file: Annotated[Path, tyro.conf.Positional]
    """File to write. Must not exist."""


def keygen(command: KeygenCommand) -> None:
    """Write a new key."""
    from deploy.messages.authentication import write_key

    path = command.file.expanduser()
    write_key(path)
    print(
        f"{path}: a new key. Anyone who can read it can move the robot. "
        "Pass it with --key on the robot's and the operator's side."
    )
