"""Rights of an interpreter: raw Ethernet, real-time scheduling and locked memory, for one user.

A file with capabilities gives them to everyone who may execute it. Raw Ethernet reaches the master
board without any key, so that the interpreter must be executable by its owner only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from solo_doi.common.errors import SoloError

CAPABILITIES = "cap_net_raw,cap_sys_nice,cap_ipc_lock+ep"
"""Capabilities that the processes of a robot need, as `setcap` writes them."""
CAPABILITY_ATTRIBUTE = "security.capability"
"""Attribute of a file in which Linux stores its capabilities."""
ROBOT_ENVIRONMENT = ".venv-robot"
"""Default folder of `solo-deploy install-robot`."""
OWNER_ONLY = 0o700
OTHERS_EXECUTE = 0o011
"""Right to execute of the group and of all others."""


def rights_command() -> str:
    """Return the command that grants raw Ethernet, real-time scheduling and locked memory.

    Capabilities belong to the executable file. An environment that only links to a Python of the
    system needs a copy of its own first, which `install-robot` makes.
    """
    python = Path(os.path.realpath(sys.executable))
    if python.is_relative_to(os.path.realpath(sys.prefix)) and sys.prefix != sys.base_prefix:
        return f"sudo setcap {CAPABILITIES} {python} && chmod 700 {python}"
    own = Path.cwd() / ROBOT_ENVIRONMENT / "bin" / "python"
    return f"solo-deploy install-robot && sudo setcap {CAPABILITIES} {own}"


def check_owner_only(python: Path) -> None:
    """Refuse an interpreter with capabilities that other users may execute.

    Raises:
        SoloError: The message has the remedy.
    """
    path = Path(os.path.realpath(python))
    if _has_capabilities(path) and path.stat().st_mode & OTHERS_EXECUTE:
        raise SoloError(
            f"{path}: has capabilities, and every user may run it: each could command the motors "
            f"without a key. Allow it to its owner only: chmod 700 {path}"
        )


def _has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, CAPABILITY_ATTRIBUTE))
    except OSError:  # no such attribute, or a file system without attributes
        return False
