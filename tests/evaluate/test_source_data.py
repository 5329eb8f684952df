"""Data of a run with the expert's weights, or the reason why they are missing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from solo_doi.data.manifest import Manifest
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.source import read_source
from solo_doi.evaluate.source_data import MissingDataError, read_source_data

NUMBERS = EvalConfig(episodes=100, pictures=False)


def test_the_data_of_a_run_are_read_with_the_experts_weights(trained: Path, data: Path) -> None:
    """Weights are in the order of the data; the randomisation is that of the manifest, if any."""
    found = read_source_data(read_source(trained, NUMBERS))
    with h5py.File(trained / "ratios.h5") as file:
        np.testing.assert_allclose(found.log_weights, file["log_w_expert"][()].ravel())
    assert len(found.coverage) == len(found.log_weights)
    assert found.randomisation == "robust"  # this recipe has none


@pytest.mark.parametrize(("name", "expected"), [("paper", "paper"), ("strange", "robust")])
def test_the_randomisation_is_that_of_the_manifest(
    name: str, expected: str, trained: Path, data: Path, tmp_path: Path
) -> None:
    """The dataset is in another folder, with the same content."""
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    coverage = Path(shutil.copytree(data / "coverage", tmp_path / "coverage"))
    manifest = Manifest.read(coverage)
    recipe = {**manifest.origin["recipe"], "randomisation": name}
    replace(manifest, origin={**manifest.origin, "recipe": recipe}).write(coverage)
    text = (run / "config.yaml").read_text().replace(str(data / "coverage"), str(coverage))
    (run / "config.yaml").write_text(text)
    assert read_source_data(read_source(run, NUMBERS)).randomisation == expected


@pytest.mark.parametrize("kind", ["moved", "other", "no ratios", "damaged", "shorter"])
def test_missing_data_have_a_reason(kind: str, trained: Path, data: Path, tmp_path: Path) -> None:
    """The data are missing or changed, or their ratios are missing, damaged or too short."""
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    config = run / "config.yaml"
    expected = {
        "moved": "no such file or directory",
        "other": "began with other data",
        "no ratios": "no such file. Train the run again",
        "damaged": "not the ratios of a run",
        "shorter": "weights of 10 transitions, the data have",
    }[kind]
    if kind == "moved":
        config.write_text(config.read_text().replace(str(data / "coverage"), "/nowhere"))
    elif kind == "other":
        config.write_text(
            config.read_text().replace(str(data / "coverage"), str(data / "demonstrations"))
        )
    elif kind == "no ratios":
        (run / "ratios.h5").unlink()
    elif kind == "damaged":
        (run / "ratios.h5").write_text("ratios")
    else:
        with h5py.File(run / "ratios.h5", "r+") as file:
            del file["log_w_expert"]
            file["log_w_expert"] = np.zeros(10)
    with pytest.raises(MissingDataError, match=expected):
        read_source_data(read_source(run, NUMBERS))
