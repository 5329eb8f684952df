"""solo-train and solo-sweep: learn diverse skills offline, once or many times."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from solo_doi.common import settings
from solo_doi.common.errors import one_line
from solo_doi.runs.run_directory import TrainCommand, _defaults, _read_checked, _run, _write_origin


def train_main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-train"):
        train(settings.from_command_line(TrainCommand, "solo-train", start=_defaults))


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
    from solo_doi.algorithm.training import (
        SUMMARY_FILE,
        Training,
    )  # heavy: after the flags are checked
    from solo_doi.runs.train_log import TrainLog

    run, config = _run(command)
    config.check()
    data, expert, made_from = _read_checked(run, config)
    training = Training(
        config, data, expert, run
    )  # refuses what does not fit before anything is written
    del data, expert  # the tensors made of them remain
    done = training.steps_done()
    print(f"run: {run}", flush=True)
    _write_origin(run, config, made_from)
    try:
        with TrainLog(run, config.skills, first=done) as log:
            training.train(log)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Continue with --resume {run}.") from None
    _show(json.loads((run / SUMMARY_FILE).read_text()))
    return run


def _show(summary: dict) -> None:
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
