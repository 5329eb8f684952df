"""solo-doctor: what this computer has, what is missing, and the commands that repair it."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from solo_doi.common.command_line import Command, Program
from solo_doi.common.doctor import Diagnosis, Health, HealthCheck, Purpose, diagnose
from solo_doi.common.errors import one_line
from solo_doi.common.files import write_text

if TYPE_CHECKING:
    from rich.console import Console

CONTRIBUTORS = (
    "solo_doi.doctor.library_checks",
    "collect.doctor_checks",
    "deploy.doctor.computer_checks",
)
"""Modules with a tuple `CHECKS`. Named here, since deploy does not import collect."""
MARKS = {
    Health.GOOD: "[green]good[/]    ",
    Health.MISSING: "[bold red]fix[/]     ",
    Health.OPTIONAL: "[yellow]optional[/]",
}


@dataclass(frozen=True, kw_only=True)
class DoctorCommand:
    """Check this computer: one line per thing, with the command that repairs it.

    A line is good, or to be fixed, or optional (missing, but not needed for --for). The measurement
    of the loop's lateness takes ten seconds.

    Examples:
      solo-doctor                    everything; the exit code is 0
      solo-doctor --for train        exit code 1 if training would not work
      solo-doctor --for robot        the same for the computer of a real robot
      solo-doctor --json             for programs and problem reports
    """

    purpose: Annotated[Purpose | None, tyro.conf.arg(name="for")] = None
    """Use that this computer has to be fit for; sets the exit code."""
    json: bool = False
    """Print JSON instead of lines."""
    out: Path | None = None
    """File for the same JSON, for a problem report."""


def main() -> None:
    """Run solo-doctor."""
    with one_line("solo-doctor"):
        PROGRAM.run()


def contributed_checks() -> tuple[HealthCheck, ...]:
    """Return the checks of all packages."""
    found: list[HealthCheck] = []
    for module in CONTRIBUTORS:
        found += importlib.import_module(module).CHECKS
    return tuple(found)


def doctor(command: DoctorCommand) -> int:
    """Make all checks and print them; return 1 if something that --for needs is missing."""
    from rich.console import Console  # slow to import, and not needed for --help

    console = Console()
    lines: list[Diagnosis] = []
    for line in diagnose(contributed_checks(), command.purpose):
        lines.append(line)
        if not command.json:
            show(line, console)
    content = json.dumps(
        {"for": command.purpose, "checks": [line.to_json() for line in lines]}, indent=1
    )
    if command.json:
        print(content)
    if command.out is not None:
        write_text(command.out, content + "\n")
    missing = [line.check.name for line in lines if line.health is Health.MISSING]
    if not command.json:
        console.print(summary(missing, command.purpose), highlight=False)
    return 1 if missing and command.purpose is not None else 0


def show(line: Diagnosis, console: Console) -> None:
    """Print one line, and below it the command that repairs the thing, which can be copied."""
    from rich.markup import escape

    text = f"{MARKS[line.health]}  [bold]{line.check.name}[/]: {escape(line.finding.found)}"
    console.print(text, highlight=False, soft_wrap=True)
    if not line.finding.good:
        fix = f"            for {line.check.use}: [cyan]{escape(line.finding.fix)}[/]"
        console.print(fix, highlight=False, soft_wrap=True)


def summary(missing: list[str], purpose: Purpose | None) -> str:
    """Return the last line of the screen."""
    use = purpose or "every use"
    if missing:
        return f"[bold red]To be fixed for {use}[/]: {', '.join(missing)}"
    return f"[bold green]Ready for {use}.[/]"


def _doctor() -> Command[DoctorCommand]:
    return Command(DoctorCommand, doctor)


PROGRAM = Program("solo-doctor", _doctor)
