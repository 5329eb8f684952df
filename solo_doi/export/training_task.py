"""Task and robot that a policy was trained for, from the record of its training.

The size of an observation does not decide it: a Gym task may have as many numbers as Solo12's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import ROBOT
from solo_doi.runs.run_files import RunFiles
from solo_doi.solo12.observation import LAYOUTS

from .run_record import read_object

OBSERVATION_KEY = "observation"
"""Key of provenance.json: name and size of every observation term of the coverage data."""
REMEDY = "Train on data of solo-collect with --task locomotion, then export that run."


def task_of_run(run: Path) -> str:
    """Return the task of a run of solo-train.

    Raises:
        SoloError: The run was trained for a task that Solo12 does not have, or on observations
            other than those that the controller builds.
    """
    files = RunFiles(run)
    path = files.config
    if not path.is_file():
        raise SoloError(f"{run}: not a run of solo-train, it has no {path.name}.")
    config = settings.load(path)
    task = config.get("task")
    if task not in LAYOUTS:
        raise SoloError(
            f"{path}: trained for task {task!r}. Only policies for {_tasks()} run on Solo12. "
            f"{REMEDY}"
        )
    provenance = files.provenance
    recorded = None
    if provenance.is_file():
        recorded = read_object(provenance).get(OBSERVATION_KEY)
    if recorded is None:
        _check_used_terms(path, config, task)
    else:
        _check_recorded_terms(provenance, recorded, task)
    return str(task)


def robot_of_run(run: Path) -> str:
    """Return the robot whose data a run was trained on.

    A run of version 0.1 has no record of it. Its observation terms, which `task_of_run` checks, are
    those of Solo12.

    Raises:
        SoloError: The run was trained on data of another robot.
    """
    path = RunFiles(run).provenance
    if not path.is_file():
        return ROBOT
    record = read_object(path)
    robot = record.get("robot", ROBOT)
    if robot != ROBOT:
        joints = ", ".join(_texts(record.get("joint_names"))) or "without names"
        raise SoloError(
            f"{path}: trained for robot {robot!r} (joints {joints}), expected {ROBOT!r}. {REMEDY}"
        )
    return ROBOT


def task_of_checkpoint(checkpoint: Path, stated: str | None = None) -> str:
    """Return the task of a DOMiNiC checkpoint: from its run's configuration, or as `stated`.

    Raises:
        SoloError: The task is unknown, or the configuration contradicts the stated one.
    """
    path = checkpoint_config(checkpoint)
    recorded = None
    if path is not None:
        recorded = settings.load(path).get("task")
    if recorded is None and stated is None:
        name = RunFiles(checkpoint.parent).config.name
        raise SoloError(
            f"{checkpoint}: its task is unknown, because no {name} of solo-pretrain lies beside it "
            f"or in the folder above. State it with --task: {_tasks(' or ')}."
        )
    if recorded is not None and stated not in (None, recorded):
        raise SoloError(f"{path}: trained for task {recorded!r}, but --task is {stated!r}.")
    task = recorded or stated
    if task not in LAYOUTS:
        raise SoloError(
            f"{path or checkpoint}: trained for task {task!r}. Only policies for {_tasks()} run on "
            "Solo12."
        )
    return str(task)


def checkpoint_config(checkpoint: Path) -> Path | None:
    """Return the configuration of a checkpoint: of the run that it lies in, or beside it."""
    folder = checkpoint.absolute().parent
    for place in (folder.parent, folder):
        path = RunFiles(place).config
        if path.is_file():
            return path
    return None


def _check_recorded_terms(path: Path, recorded: object, task: str) -> None:
    """Refuse observations that differ from the task's in names, sizes or order."""
    expected = [(term.name, term.size) for term in LAYOUTS[task].terms]
    try:
        found = [(term["name"], term["size"]) for term in recorded]  # type: ignore[attr-defined]
    except (KeyError, TypeError) as error:
        raise SoloError(
            f"{path}: {OBSERVATION_KEY!r} is not a list of terms with name and size ({error}). "
            "Train the run again."
        ) from error
    if found != expected:
        raise SoloError(
            f"{path}: trained on observations {_listed(found)}; task {task!r} has "
            f"{_listed(expected)}. {REMEDY}"
        )


def _check_used_terms(path: Path, config: Mapping[str, Any], task: str) -> None:
    """Refuse a run of version 0.1 that was trained on data without Solo12's observation terms.

    Such a run has no record of all terms. It names those that classifier and discriminator use,
    and training refuses names that the data do not have.
    """
    used = _used_terms(config)
    known = LAYOUTS[task].slices
    unknown = [name for name in used if name.partition(".")[0] not in known]
    if unknown or not used:
        raise SoloError(
            f"{path}: classifier and discriminator use the terms {', '.join(used) or '(none)'}; "
            f"task {task!r} has {', '.join(known)}. {REMEDY}"
        )


def _used_terms(config: Mapping[str, Any]) -> list[str]:
    projection = config.get("projection")
    if projection:
        return _texts(projection)
    used = []
    for part in ("classifier", "discriminator"):
        section = config.get(part)
        if isinstance(section, Mapping):
            used += _texts(section.get("terms"))
    return used


def _texts(value: object) -> list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(map(str, value))
    return []


def _listed(terms: Sequence[tuple[object, object]]) -> str:
    return ", ".join(f"{name} ({size})" for name, size in terms)


def _tasks(conjunction: str = " and ") -> str:
    return conjunction.join(LAYOUTS)
