"""Checks of a sweep before it trains: every run can start, and existing runs have its settings."""

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
"""Value of a setting that no longer exists, in error messages."""


def check_jobs(jobs: Sequence[Job]) -> None:
    """Check the settings, data and existing directories of all jobs.

    Raises:
        SoloError: A job cannot be trained, or its directory has a run of other settings.
    """
    configs = list(map(resolved, jobs))
    datasets = {}
    for job, config in zip(jobs, configs, strict=True):
        _check_settings(job)
        _check_resolved(job, config)
        if not job.finished:
            source = (config.task, config.data, config.expert, config.max_episode_steps)
            datasets[source] = config
    # Read every dataset once, which takes seconds. Otherwise every run would fail separately.
    for config in datasets.values():
        read_data(config)


def resolved(job: Job) -> RunConfig:
    """Return the configuration that solo-train resolves from a job's settings."""
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
    """Refuse a directory of another variant with the same name."""
    if not job.run.exists() or not job.settings_file.is_file():
        return
    if load(job.settings_file) != job.settings:
        raise SoloError(
            f"{job.settings_file}: the run was begun with other settings. Choose another --out, or "
            f"delete {job.run}."
        )


def _check_resolved(job: Job, config: RunConfig) -> None:
    """Refuse a run of other defaults.

    Settings that are newer than the run have today's values, as with --resume.
    """
    path = RunFiles(job.run).config
    if not path.is_file():
        return
    now = dict(_flat(to_dict(config)))
    for name, found in _flat(load(path)):
        expected = now.get(name, ABSENT)
        if expected != found:
            raise SoloError(
                f"{path}: the run was begun with other settings, {name} {found!r} for {expected!r} "
                f"now. Choose another --out, or delete {job.run}."
            )


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings by dotted names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
