"""solo-train and solo-sweep: learn diverse skills offline, once or many times."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from solo_doi.common import settings
from solo_doi.common.errors import one_line
from solo_doi.runs.run_config import TrainCommand, command_defaults


def train_main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-train"):
        train(settings.from_command_line(TrainCommand, "solo-train", start=command_defaults))


def sweep_main() -> None:
    """Run solo-sweep."""
    import tyro

    from solo_doi.runs.sweep import SweepCommand, sweep

    with one_line("solo-sweep", "The same command goes on where it was."):
        table = sweep(
            tyro.cli(SweepCommand, prog="solo-sweep"),
            tell=lambda text: print(text, file=sys.stderr),
        )
        print(f"{table.read_text()}\n{table}")


def train(command: TrainCommand) -> Path:
    """Train, and return the run's directory."""
    # Heavy imports come after the flags are checked.
    from solo_doi.runs.train_log import TrainLog
    from solo_doi.runs.train_run import default_folder, resume_run, train_new

    if command.resume is not None:
        run = resume_run(command.resume, TrainLog, announce=_announce)
    else:
        folder = command.out or default_folder()
        run = train_new(command.run_config(), folder, TrainLog, announce=_announce)
    _show(run.summary)
    return run.path


def _announce(run: Path) -> None:
    print(f"run: {run}", flush=True)


def _show(summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "skill", "phi", "sigma", "effective share", "ratio l1", "per trajectory", title="Skills"
    )
    columns = (
        "phi",
        "sigma",
        "effective_share",
        "ratio_l1_per_skill",
        "ratio_l1_trajectory_per_skill",
    )
    for skill in range(len(summary["phi"])):
        table.add_row(
            str(skill),
            *(f"{summary[name][skill]:.3f}" if name in summary else "" for name in columns),
        )
    Console().print(table)
