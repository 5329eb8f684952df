"""Names of the columns of foreign data, from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.dataset import read_transitions
from solo_doi.runs.data_terms import read_terms
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_data import read_data
from tests.data.datasets import made_up_transitions


def foreign_file(path: Path) -> Path:
    """Write a D4RL file without names."""
    import h5py

    write_d4rl(path, made_up_transitions())
    with h5py.File(path, "r+") as file:
        for name in [*file.attrs]:
            del file.attrs[name]
    return path


def layout(folder: Path, text: str) -> Path:
    """Write a file with names."""
    path = folder / "layout.yaml"
    path.write_text(text)
    return path


def test_names_reach_training(tmp_path: Path) -> None:
    """The expert's data have the same names unless the file gives others."""
    data = foreign_file(tmp_path / "walks.hdf5")
    width = read_transitions(data).observations.shape[1]
    text = f"terms: {{speed: 1, rest: {width - 1}}}\n"
    config = RunConfig(data=data, expert=data, terms=layout(tmp_path, text))
    found = read_data(config)
    assert found.coverage.terms == found.expert.terms
    assert found.coverage.terms == {"speed": slice(0, 1), "rest": slice(1, width)}
    text += f"expert: {{terms: {{all: {width}}}}}\n"
    found = read_data(RunConfig(data=data, expert=data, terms=layout(tmp_path, text)))
    assert [*found.expert.terms] == ["all"]
    np.testing.assert_array_equal(found.coverage.observations, found.expert.observations)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("terms: [a]\n", "expected `terms`"),
        ("joint_names: []\n", "expected `terms`"),
        ("terms: {a: 0}\n", "expected 1 or more"),
        ("terms: {a: true}\n", "expected 1 or more"),
        ("terms: {1: 1}\n", "expected 1 or more"),
        ("terms: {a: 1}\nterm: 2\n", "Did you mean 'terms'"),
        ("terms: {a: 1}\njoint_names: FL\n", "expected a list of names"),
        ("terms: {a: 1}\nexpert: 3\n", "expected `terms`"),
    ],
)
def test_malformed_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SoloError, match=message):
        read_terms(layout(tmp_path, text))


def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    data = foreign_file(tmp_path / "walks.hdf5")
    names, _ = read_terms(layout(tmp_path, "terms: {a: 1}\n"))
    with pytest.raises(SoloError, match="observations have"):
        read_transitions(data, names=names)
    width = read_transitions(data).observations.shape[1]
    text = f"terms: {{a: {width}}}\njoint_names: [only]\n"
    names, _ = read_terms(layout(tmp_path, text))
    with pytest.raises(SoloError, match="1 joints are named"):
        read_transitions(data, names=names)


def test_data_with_names_keep_them(tmp_path: Path) -> None:
    path = tmp_path / "own.hdf5"
    data = made_up_transitions()
    write_d4rl(path, replace(data, terms={"own": slice(0, data.observations.shape[1])}))
    names, _ = read_terms(layout(tmp_path, "terms: {a: 1}\n"))
    with pytest.raises(SoloError, match="names its columns itself"):
        read_transitions(path, names=names)
