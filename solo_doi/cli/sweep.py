"""solo-sweep: many runs of solo-train, one table."""

from __future__ import annotations

import sys

from solo_doi.common.command_line import Command, Program
from solo_doi.common.errors import one_line
from solo_doi.common.steps import show_next, shown_steps
from solo_doi.runs.sweep_command import SweepCommand


def main() -> None:
    """Run solo-sweep; errors that the user can correct are one line."""
    with one_line("solo-sweep", "Run the same command again to continue."):
        PROGRAM.run()


def sweep_all(command: SweepCommand) -> None:
    """Train the grid and print its table."""
    from solo_doi.runs.sweep import sweep  # heavy imports

    with shown_steps("solo-sweep"):
        table = sweep(command, report=lambda text: print(text, file=sys.stderr))
    print(f"{table.read_text()}\n{table}")
    show_next(f"solo-eval --compare {command.out}/*/")


PROGRAM = Program("solo-sweep", lambda: Command(SweepCommand, sweep_all))
