"""solo-train: learn diverse skills offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo_doi.common.command_line import Command, Program
from solo_doi.common.errors import one_line
from solo_doi.common.steps import show_next
from solo_doi.runs.run_config import TrainCommand, command_defaults


def train_main() -> None:
    """Run solo-train; errors that the user can correct are one line."""
    with one_line("solo-train"):
        PROGRAM.run()


def train(command: TrainCommand) -> Path:
    """Train, and return the run's directory."""
    # Heavy imports come after the flags are checked.
    from solo_doi.runs.train_log import TrainLog
    from solo_doi.runs.train_run import default_folder, resume_run, train_new
    from solo_doi.tasks import is_task

    if command.resume is not None:
        run = resume_run(command.resume, TrainLog, announce=_announce)
    else:
        folder = command.out or default_folder()
        run = train_new(command.run_config(), folder, TrainLog, announce=_announce)
    _show(run.summary)
    if is_task(run.config.task):
        show_next(f"solo-eval {run.path}")
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
    console = Console()
    console.print(table)
    if "cluster_cost" in summary:
        console.print(
            f"With eps {max(summary['cluster_cost']):.1f} or more, each skill can be one of "
            f"{len(summary['cluster_cost'])} distinct kinds of the expert's walks."
        )


PROGRAM = Program("solo-train", lambda: Command(TrainCommand, train, command_defaults))
