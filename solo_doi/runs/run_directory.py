"""The run directory of solo-train: its configuration, data and provenance."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common import settings
from solo_doi.common.errors import SoloError, UnknownNameError

if TYPE_CHECKING:
    from solo_doi.data.transitions import Transitions

CONFIG_FILE = "config.yaml"


PROVENANCE_FILE = "provenance.json"


Task = Literal["locomotion", "gym"]


@dataclass(frozen=True, kw_only=True)
class RunConfig(TrainConfig):
    """What a run is made of: its data, and how it is trained."""

    task: Task = "locomotion"
    """Where data are looked for, and which defaults fit: our robot, or D4RL and Minari data of Gym tasks."""
    data: Path | None = None
    """Coverage data with actions: a dataset directory, a D4RL file or a Minari dataset; datasets/TASK/coverage."""
    expert: Path | None = None
    """Expert's states, with fewer terms if need be; datasets/TASK/demonstrations by default."""
    max_episode_steps: int | None = None
    """Where trajectories of D4RL files without `timeouts` were cut; 1000 for most MuJoCo tasks."""


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


def read_same_data(run: Path, config: RunConfig) -> tuple[Transitions, Transitions]:
    """Read what a run was made from; refuse other data in the same place."""
    return _read_checked(run, config)[:2]


def _read_checked(
    run: Path, config: RunConfig
) -> tuple[Transitions, Transitions, dict[str, dict[str, int]]]:
    data, expert = read_data(config)
    made_from = {"data": _fingerprint(data), "expert": _fingerprint(expert)}
    _check_made_from(run, made_from)
    return data, expert, made_from


def read_data(config: RunConfig) -> tuple[Transitions, Transitions]:
    """Read coverage data and expert states."""
    from solo_doi.data.dataset import read_transitions

    paths = [config.data, config.expert]
    for number, (flag, name) in enumerate((("--data", "coverage"), ("--expert", "demonstrations"))):
        folder = Path("datasets") / config.task / name
        if paths[number] is None and not folder.is_dir():
            remedy = (
                "Run `solo-collect --task locomotion` here first, or name"
                if config.task == "locomotion"
                else "Name"
            )
            raise SoloError(f"{folder}: no such directory. {remedy} data with {flag}.")
        paths[number] = paths[number] or folder
    data, expert = (
        read_transitions(path or Path(), max_episode_steps=config.max_episode_steps)
        for path in paths
    )
    return data, expert


def _defaults(early: Callable[[str, str], str]) -> TrainCommand:
    from solo_doi.algorithm.presets import preset

    task = early("task", "locomotion")
    if task not in get_args(Task):
        raise UnknownNameError("task", task, get_args(Task))
    chosen = preset(early("preset", "default"), task)
    return TrainCommand(
        **{field.name: getattr(chosen, field.name) for field in fields(TrainConfig)}
    )


def _run(command: TrainCommand) -> tuple[Path, RunConfig]:
    if command.resume is not None:
        path = command.resume / CONFIG_FILE
        if not command.resume.exists():
            raise SoloError(
                f"{command.resume}: no such directory. Expected a run of solo-train to continue."
            )
        if not path.is_file():
            raise SoloError(f"{command.resume}: not a run of solo-train, it has no {CONFIG_FILE}.")
        return command.resume, settings.read(RunConfig, path)
    run = command.out or Path("runs") / f"train-{datetime.now():%Y%m%d-%H%M%S}"
    if run.exists():
        raise SoloError(
            f"{run}: exists already. Choose another --out, or continue it with --resume {run}."
        )
    return run, RunConfig(
        **{field.name: getattr(command, field.name) for field in fields(RunConfig)}
    )


def _fingerprint(data: Transitions) -> dict[str, int]:
    """Numbers that other data do not share."""
    numbers = {
        "transitions": len(data),
        "trajectories": len(data.starts),
        "crc32": zlib.crc32(data.observations.data),
    }
    return (
        numbers
        if data.actions is None
        else numbers | {"crc32_actions": zlib.crc32(data.actions.data)}
    )


def read_origin(run: Path) -> dict[str, Any]:
    """Read what a run was made from, and by which software; empty if nobody wrote it down."""
    path = run / PROVENANCE_FILE
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise SoloError(
            f"{path}: not valid JSON ({error}). Delete it, if you are sure of the data."
        ) from error


def _check_made_from(run: Path, made_from: dict[str, dict[str, int]]) -> None:
    """Refuse to continue a run with other data."""
    before = read_origin(run)
    for name, found in made_from.items():
        if any(found.get(number) != value for number, value in before.get(name, {}).items()):
            raise SoloError(
                f"{run}: began with other {name} ({before[name]}), found {found}. Continue with the same."
            )


def _write_origin(run: Path, config: RunConfig, made_from: dict[str, dict[str, int]]) -> None:
    """Say how the run is made and from what; the configuration first, which alone makes it a run to continue."""
    from solo_doi.common.files import write_text
    from solo_doi.common.provenance import software

    began = read_origin(run).get("software")  # a run that is continued keeps what it began with
    by = (
        {"software": software()}
        if began is None
        else {"software": began, "continued_with": software()}
    )
    write_text(run / CONFIG_FILE, settings.to_yaml(config))
    write_text(run / PROVENANCE_FILE, json.dumps({**made_from, **by}, indent=1) + "\n")
