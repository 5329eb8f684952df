"""Health checks of a computer: types that all packages share, and the judgement of findings."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from .child_python import run_program
from .errors import SoloError

Purpose = Literal["collect", "train", "deploy", "robot"]
"""Uses of this project: make data, learn skills, dry runs, the computer of a real robot."""


@dataclass(frozen=True)
class Finding:
    """Result of looking at one thing."""

    good: bool
    found: str
    """Version, number or reason, in a few words."""
    fix: str = ""
    """Command that repairs it. Every finding that is not good has one."""


@dataclass(frozen=True)
class HealthCheck:
    """One line of `solo-doctor`."""

    name: str
    use: str
    """What it is needed for, in a few words."""
    look: Callable[[], Finding]
    needed_for: frozenset[Purpose] = frozenset()
    """Purposes that do not work without it; empty for a thing that is optional everywhere."""


class Health(Enum):
    """Verdict of one line."""

    GOOD = "good"
    MISSING = "fix"
    """Needed for the purpose, and not there."""
    OPTIONAL = "optional"
    """Not there, and not needed for the purpose."""


@dataclass(frozen=True)
class Diagnosis:
    """One line of the result."""

    check: HealthCheck
    finding: Finding
    health: Health

    def to_json(self) -> dict[str, object]:
        """Return the line as JSON content."""
        return {
            "name": self.check.name,
            "use": self.check.use,
            "needed_for": sorted(self.check.needed_for),
            "verdict": self.health.value,
            "found": self.finding.found,
            "fix": self.finding.fix,
        }


def diagnose(checks: Iterable[HealthCheck], purpose: Purpose | None) -> Iterator[Diagnosis]:
    """Make the checks, one after another; without a purpose, all purposes count."""
    for check in checks:
        finding = check.look()
        health = Health.OPTIONAL
        if finding.good:
            health = Health.GOOD
        elif purpose in check.needed_for or (purpose is None and check.needed_for):
            health = Health.MISSING
        yield Diagnosis(check, finding, health)


def package_check(
    name: str,
    package: str,
    use: str,
    *needed_for: Purpose,
    install: str,
    program: str = "",
) -> HealthCheck:
    """Return the check of a package: a child process imports it, since a broken one may crash.

    `program` prints what the line shows; the version by default. `install` are pip's arguments, or
    a whole command if it begins with `sudo`.
    """
    shown = program or f"from importlib.metadata import version; print(version({name!r}))"

    def look() -> Finding:
        try:
            found = run_program(Path(sys.executable), f"import {package}\n{shown}", "")
        except SoloError as error:
            return Finding(False, _reason(error), fix_command(install))
        return Finding(True, found)

    return HealthCheck(name, use, look, frozenset(needed_for))


def fix_command(install: str) -> str:
    """Return a command line from pip's arguments; a command of another program is unchanged."""
    if install.startswith("sudo "):
        return install
    return f"{shlex.quote(sys.executable)} -m pip install {install}"


def _reason(error: SoloError) -> str:
    """Return the last line of a failed import, without the interpreter's path."""
    return str(error).partition(": ")[2].rstrip("; ")
