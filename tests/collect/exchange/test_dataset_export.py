"""Datasets in the formats of other programs, and back: nothing but labels of skills is lost."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import h5py
import numpy as np
import pytest

from collect.exchange.dataset_export import export, minari_name
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import read_transitions
from solo_doi.data.labels import LABELS_ATTRIBUTE
from solo_doi.data.minari import data_file
from solo_doi.data.shard import DataError
from solo_doi.runs.run_config import implied_task

HDF5_PLACES = [("d4rl", "out.hdf5"), ("minari", "solo12/out-v0")]
PLACES = [*HDF5_PLACES, ("lerobot", "out")]


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_transitions_names_and_task_come_back(
    collection: Path, tmp_path: Path, kind: str, place: str
) -> None:
    source = collection / "offline"
    out = tmp_path / place
    before = read_transitions(source)
    assert export(source, out, kind) == (len(before), len(before.starts))
    after = read_transitions(out)
    for field in dataclasses.fields(before):
        expected = getattr(before, field.name)
        found = getattr(after, field.name)
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found, expected, err_msg=field.name)
        else:
            assert found == expected
    assert implied_task(str(out)) == "locomotion"


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_place_that_exists_is_refused(
    collection: Path, tmp_path: Path, kind: str, place: str
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    with pytest.raises(SoloError, match="exists already"):
        export(collection / "offline", tmp_path / place, kind)
    assert (tmp_path / place).read_text() == "mine"


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_states_alone_are_refused(collection: Path, tmp_path: Path, kind: str, place: str) -> None:
    with pytest.raises(DataError, match="without actions"):
        export(collection / "demonstrations", tmp_path / place, kind)
    assert not (tmp_path / place).exists()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("{", "is damaged"),
        ("[1]", "is damaged"),
        ('{"task": "locomotion", "terms": {"a": "x"}, "joint_names": []}', "is damaged"),
        ('{"task": "locomotion", "terms": {"a": 3}, "joint_names": []}', "name 3 numbers"),
        ('{"task": "locomotion", "terms": {"a": -1, "b": 49}, "joint_names": []}', "numbers"),
    ],
)
@pytest.mark.parametrize(("kind", "place"), HDF5_PLACES)
def test_damaged_names_are_refused(
    collection: Path, tmp_path: Path, kind: str, place: str, labels: str, message: str
) -> None:
    """Columns with wrong names would be used as other quantities."""
    out = tmp_path / place
    export(collection / "offline", out, kind)
    with h5py.File(out if out.is_file() else data_file(out), "r+") as file:
        file.attrs[LABELS_ATTRIBUTE] = labels
    with pytest.raises(DataError, match=message):
        read_transitions(out)


@pytest.mark.parametrize(
    ("place", "name"),
    [("/data/.minari/datasets/walk-v0", "walk-v0"), ("/data/solo12/walk-v1", "solo12/walk-v1")],
)
def test_the_name_of_a_minari_dataset_is_its_place(place: str, name: str) -> None:
    assert minari_name(Path(place)) == name
