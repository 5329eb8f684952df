"""solo-train and solo-sweep: learn diverse skills offline, once or many times."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from solo_doi import config as configuration
from solo_doi.algorithm.config import TrainConfig
from solo_doi.errors import SoloError

if TYPE_CHECKING:
    from solo_doi.data.transitions import Transitions

CONFIG_FILE = "config.yaml"
PROVENANCE_FILE = "provenance.json"


@dataclass(frozen=True, kw_only=True)
class RunConfig(TrainConfig):
    """What a run is made of: its data, and how it is trained."""

    task: Literal["locomotion", "gym"] = "locomotion"
    """Where data are looked for, and which defaults fit: our robot, or D4RL and Minari data of Gym tasks."""
    data: Path | None = None
    """Coverage data with actions: a dataset directory, a D4RL file or a Minari dataset; datasets/TASK/coverage."""
    expert: Path | None = None
    """Expert's states, with fewer terms if need be; datasets/TASK/demonstrations by default."""


@dataclass(frozen=True, kw_only=True)
class TrainCommand(RunConfig):
    """Learn skills that imitate the expert in different ways, from data alone.

    Examples: `solo-train` trains five locomotion skills with the default eps; `solo-train --eps 4` lets them differ
    more; `solo-train --multipliers fixed:1` is SMODICE with skills; `solo-train --objective smodice` is the expert
    alone; `solo-train --preset paper` follows the printed equations; `solo-train --resume runs/NAME` continues a
    killed run.
    """

    preset: Literal["default", "paper"] = "default"
    """Where the defaults come from: what works on our data, or what the paper prints."""
    out: Path | None = None
    """Directory of the run; runs/train-DATE-TIME by default. Must not exist."""
    resume: Path | None = None
    """Run to continue; its own configuration is used and flags that set others are ignored."""


def train_main() -> None:
    """Run the command; errors the user can mend are one line."""
    try:
        train(configuration.from_command_line(TrainCommand, "solo-train", start=_defaults))
    except SoloError as error:
        print(f"solo-train: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("solo-train: stopped. Continue with --resume and the run's directory.", file=sys.stderr)
        sys.exit(130)


def sweep_main() -> None:
    """Run solo-sweep."""
    import tyro

    from solo_doi.sweep import SweepCommand, sweep

    try:
        table = sweep(tyro.cli(SweepCommand, prog="solo-sweep"))
        print(f"{table.read_text()}\n{table}")
    except SoloError as error:
        print(f"solo-sweep: {error}", file=sys.stderr)
        sys.exit(1)


def train(command: TrainCommand) -> Path:
    """Train, and return the run's directory."""
    from solo_doi.algorithm.training import SUMMARY_FILE, Training  # heavy: after the flags are checked
    from solo_doi.train_log import TrainLog

    run, config = _run(command)
    config.check()
    data, expert = read_data(config)
    print(f"run: {run}")
    _write_provenance(run, config, data)
    training = Training(config, data, expert, run)
    del data, expert  # the tensors made of them remain
    with TrainLog(run, config.skills, first=training.steps_done()) as log:
        training.train(log)
    _show(json.loads((run / SUMMARY_FILE).read_text()))
    return run


def read_data(config: RunConfig) -> tuple[Transitions, Transitions]:
    """Read coverage data and expert states."""
    from solo_doi.data.dataset import read_transitions

    paths = [config.data, config.expert]
    for number, (flag, name) in enumerate((("--data", "coverage"), ("--expert", "demonstrations"))):
        folder = Path("datasets") / config.task / name
        if paths[number] is None and not folder.is_dir():
            remedy = (
                "Run `solo-collect --task locomotion` here first, or name" if config.task == "locomotion" else "Name"
            )
            raise SoloError(f"{folder}: no such directory. {remedy} data with {flag}.")
        paths[number] = paths[number] or folder
    return read_transitions(paths[0] or Path()), read_transitions(paths[1] or Path())


def _defaults(early: Callable[[str, str], str]) -> TrainCommand:
    from solo_doi.algorithm.presets import preset

    chosen = preset(early("preset", "default"), early("task", "locomotion"))
    return TrainCommand(**{field.name: getattr(chosen, field.name) for field in fields(TrainConfig)})


def _run(command: TrainCommand) -> tuple[Path, RunConfig]:
    if command.resume is not None:
        path = command.resume / CONFIG_FILE
        if not path.is_file():
            raise SoloError(f"{command.resume}: not a run of solo-train, it has no {CONFIG_FILE}.")
        return command.resume, configuration.read(RunConfig, path)
    run = command.out or Path("runs") / f"train-{datetime.now():%Y%m%d-%H%M%S}"
    if run.exists():
        raise SoloError(f"{run}: exists already. Choose another --out, or continue it with --resume {run}.")
    return run, RunConfig(**{field.name: getattr(command, field.name) for field in fields(RunConfig)})


def _write_provenance(run: Path, config: RunConfig, data: Transitions) -> None:
    """Say what the run is made from; refuse to continue one with other data."""
    from solo_doi.files import write_text
    from solo_doi.provenance import software

    made_from = {
        "transitions": len(data),
        "trajectories": len(data.starts),
        "crc32": zlib.crc32(data.observations.data),
    }
    path = run / PROVENANCE_FILE
    if path.is_file() and (before := json.loads(path.read_text())["data"]) != made_from:
        raise SoloError(f"{run}: was trained on other data ({before}), found {made_from}. Continue with the same data.")
    write_text(path, json.dumps({"data": made_from, "software": software()}, indent=1) + "\n")
    write_text(run / CONFIG_FILE, configuration.to_yaml(config))


def _show(summary: dict) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("skill", "phi", "sigma", "effective share", "ratio l1", "per trajectory", title="Skills")
    columns = ("phi", "sigma", "effective_share", "ratio_l1_per_skill", "ratio_l1_trajectory_per_skill")
    for skill in range(len(summary["phi"])):
        table.add_row(str(skill), *(f"{summary[name][skill]:.3f}" if name in summary else "" for name in columns))
    Console().print(table)
