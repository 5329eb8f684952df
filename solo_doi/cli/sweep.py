"""solo-sweep: many runs of solo-train, one table."""

from __future__ import annotations

import sys
from typing import Any

from solo_doi.common.command_line import Command, Program
from solo_doi.common.errors import one_line


def main() -> None:
    """Run solo-sweep; errors that the user can correct are one line."""
    with one_line("solo-sweep", "Run the same command again to continue."):
        PROGRAM.run()


def _sweep() -> Command[Any]:
    from solo_doi.runs.sweep import SweepCommand, sweep

    def run(command: SweepCommand) -> None:
        table = sweep(command, report=lambda text: print(text, file=sys.stderr))
        print(f"{table.read_text()}\n{table}")

    return Command(SweepCommand, run)


PROGRAM = Program("solo-sweep", _sweep)
