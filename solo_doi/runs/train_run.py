"""Training of a run, new or continued."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from solo_doi.algorithm.training import Training
from solo_doi.algorithm.training_data import NO_ACTIONS
from solo_doi.algorithm.training_output import TrainingLog
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.lock import check_absent, exclusive, new_directory
from solo_doi.common.untrusted import check_no_links

from .network_memory import check_networks
from .provenance import write_provenance
from .run import Run
from .run_config import RunConfig, read_run_config
from .run_data import RunData, check_same_data, coverage_path, read_data
from .run_files import RunFiles
from .run_store import RunStore

LogFactory = Callable[[Path, int, int], AbstractContextManager[TrainingLog]]
"""Makes the log of a run from its directory, the number of skills and the steps done before."""
Announce = Callable[[Path], object]
"""Called with the run's directory before its first file is written."""

WAIT = "Wait until it has ended, then continue with --resume."


def default_folder() -> Path:
    """Return a new place for a run, named by date and time."""
    return Path("runs") / f"train-{datetime.now():%Y%m%d-%H%M%S}"


def train_new(
    config: RunConfig,
    run: Path,
    make_log: LogFactory,
    data: RunData | None = None,
    announce: Announce = lambda _: None,
) -> Run:
    """Train a new run on `data`, or on the data that the configuration names.

    Raises:
        SoloError: The directory exists, or data and settings do not fit.
    """
    check_absent(run)
    config.check()
    check_networks(config)
    # Refuses data that do not fit before anything is written.
    training, record = _prepare(config, run, data)
    with new_directory(run):
        return _train(training, run, record, make_log, announce)


def resume_run(
    run: Path,
    make_log: LogFactory,
    data: RunData | None = None,
    announce: Announce = lambda _: None,
) -> Run:
    """Continue a run from its last saved state, with its own configuration.

    Raises:
        SoloError: The directory is not a run, another process trains it, or its data differ.
    """
    files = RunFiles(run)
    if not run.exists():
        raise SoloError(f"{run}: no such directory. Expected a run of solo-train to continue.")
    if not files.config.is_file():
        raise SoloError(f"{run}: not a run of solo-train, it has no {files.config.name}.")
    check_no_links(run)
    with exclusive(run, WAIT):
        config = read_run_config(files.config)
        config.check()
        training, record = _prepare(config, run, data)
        return _train(training, run, record, make_log, announce)


def _prepare(config: RunConfig, run: Path, data: RunData | None) -> tuple[Training, dict[str, Any]]:
    """Read the data, make tensors of them and describe them; only the tensors stay in memory."""
    if data is None:
        data = read_data(config)
        if data.coverage.actions is None:
            raise SoloError(f"{coverage_path(config)}: {NO_ACTIONS}")
    check_same_data(run, data.fingerprints())
    return Training(config, data.coverage, data.expert, RunStore(run)), data.record()


def _train(
    training: Training,
    run: Path,
    record: dict[str, Any],
    make_log: LogFactory,
    announce: Announce,
) -> Run:
    config = training.config
    done = training.steps_done()  # refuses a state that does not fit before anything is written
    announce(run)
    # The configuration comes first: it alone makes the directory a run that can be continued.
    write_text(RunFiles(run).config, settings.to_yaml(config))
    write_provenance(run, record)
    try:
        with make_log(run, config.skills, done) as log:
            training.train(log)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Continue with --resume {run}.") from None
    return Run(run)
