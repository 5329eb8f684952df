"""Data that a run was trained on, if they still exist, and the expert's weights on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.common.untrusted import open_hdf5
from solo_doi.data.manifest import MANIFEST_FILE, Manifest
from solo_doi.data.shard import DataError
from solo_doi.data.transitions import Transitions
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_data import coverage_path, read_same_data
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RATIOS_OF_EXPERT
from solo_doi.tasks.randomisation import PRESETS

from .source import Source

USUAL_RANDOMISATION = "robust"
"""Randomisation of collections by default."""


@dataclass(frozen=True)
class SourceData:
    """Data of a run, and the weights of the recovered expert on them."""

    trained: RunConfig
    """Settings of the run."""
    coverage: Transitions
    """Coverage data."""
    demonstrations: Transitions
    """States of the expert."""
    log_weights: np.ndarray
    """Log weights of the expert on all transitions of the coverage data, (N,)."""
    randomisation: str
    """Preset of the random domains that the data were collected in."""


class MissingDataError(SoloError):
    """Data or weights of a run that cannot be read; the message gives the reason."""


@dataclass(frozen=True)
class MissingData:
    """Data of a run that are not used."""

    reason: str
    """Why they are not used."""


def read_source_data(source: Source) -> SourceData:
    """Read the data of a run.

    Raises:
        MissingDataError: There are none, they changed since, or the run has no ratios.
    """
    trained = source.trained
    if trained is None:
        raise MissingDataError(f"{source.path.name} holds policies alone")
    try:
        data = read_same_data(source.path, trained)
        log_weights = _expert_weights(source, len(data.coverage))
    except SoloError as error:
        raise MissingDataError(str(error)) from error
    return SourceData(trained, data.coverage, data.expert, log_weights, _randomisation(trained))


def _expert_weights(source: Source, rows: int) -> np.ndarray:
    path = RunFiles(source.path).ratios
    if not path.is_file():
        raise MissingDataError(f"{path}: no such file. Train the run again to have its ratios.")
    try:
        with open_hdf5(path) as file:
            log_weights = np.asarray(file[RATIOS_OF_EXPERT][()], dtype=np.float64).ravel()
    except (OSError, KeyError, AttributeError, TypeError) as error:
        raise MissingDataError(f"{path}: not the ratios of a run ({reason(error)}).") from error
    if len(log_weights) != rows:
        raise MissingDataError(
            f"{path}: weights of {len(log_weights)} transitions, the data have {rows}."
        )
    return log_weights


def _randomisation(trained: RunConfig) -> str:
    """Return the preset that the coverage data were collected with, by their manifest."""
    folder = coverage_path(trained)
    if not (folder / MANIFEST_FILE).is_file():  # a D4RL file or a Minari dataset
        return USUAL_RANDOMISATION
    try:
        recipe = Manifest.read(folder).origin.get("recipe", {})
    except DataError:
        return USUAL_RANDOMISATION
    found = recipe.get("randomisation") if isinstance(recipe, dict) else None
    return found if found in PRESETS else USUAL_RANDOMISATION
