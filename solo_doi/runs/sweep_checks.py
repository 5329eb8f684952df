"""What a sweep checks before it trains: that every run can begin, and that runs it finds are those it would make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from solo_doi.common.errors import SoloError
from solo_doi.common.settings import from_dict, load, to_dict

from .run_config import RunConfig, TrainCommand, command_defaults
from .run_data import read_data
from .run_files import RunFiles

if TYPE_CHECKING:
    from .sweep_job import Job

ABSENT = "nothing"
"""Stands for a setting that there no longer is."""


def check_jobs(jobs: Sequence[Job]) -> None:
    """Refuse settings that cannot be trained, data that cannot be read, and runs of other settings."""
    configs = [resolved(job) for job in jobs]
    for job, config in zip(jobs, configs, strict=True):
        _check_settings(job)
        _check_resolved(job, config)
    missing = [config for job, config in zip(jobs, configs, strict=True) if not job.finished]
    for config in {
        (one.task, one.data, one.expert, one.max_episode_steps): one for one in missing
    }.values():
        read_data(config)  # seconds, against every run failing by itself


def resolved(job: Job) -> RunConfig:
    """Return what solo-train would make of a job's settings now."""
    where = f"variant {job.variant!r}"
    start = command_defaults(lambda name, otherwise: str(job.settings.get(name, otherwise)))
    command = from_dict(TrainCommand, job.settings, where, start)
    config = command.run_config()
    try:
        config.check()
    except SoloError as error:
        raise SoloError(f"{where}: {error}") from error
    return config


def _check_settings(job: Job) -> None:
    """Refuse to take a run for another: names do not tell all that a variant sets."""
    if job.run.exists() and job.settings_file.is_file() and load(job.settings_file) != job.settings:
        raise SoloError(
            f"{job.settings_file}: the run was begun with other settings. Choose another --out, or delete {job.run}."
        )


def _check_resolved(job: Job, config: RunConfig) -> None:
    """Refuse a run of other defaults. Settings that are newer than the run have the values of now, as in --resume."""
    path = RunFiles(job.run).config
    if not path.is_file():
        return
    now = dict(_flat(to_dict(config)))
    for name, found in _flat(load(path)):
        if (expected := now.get(name, ABSENT)) != found:
            raise SoloError(
                f"{path}: the run was begun with other settings, {name} {found!r} for {expected!r} now. "
                f"Choose another --out, or delete {job.run}."
            )


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
