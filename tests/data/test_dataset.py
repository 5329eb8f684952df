"""Reading a dataset directory."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.data.d4rl import read_d4rl, write_d4rl
from solo_doi.data.dataset import BATCH_FIELDS, Dataset, read_transitions
from solo_doi.data.manifest import MANIFEST_FILE
from solo_doi.data.minari import write_minari
from solo_doi.data.shard import DataError, write_shard

from .datasets import (
    FIELDS,
    STATE_FIELDS,
    assert_same,
    made_up_manifest,
    made_up_transitions,
    write_dataset,
)

SHARDS = ((3, 1, 5), (2,), (4, 4))
ROWS = 19


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of nine, two and eight transitions."""
    folder = tmp_path_factory.mktemp("dataset")
    write_dataset(folder, SHARDS)
    return folder


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Dataset:
    """The dataset of `folder`, opened."""
    return Dataset(folder)


def test_its_length_is_the_number_of_transitions(dataset: Dataset) -> None:
    assert len(dataset) == ROWS


@given(rows=st.lists(st.integers(0, ROWS - 1), max_size=60))
def test_a_batch_equals_plain_indexing(dataset: Dataset, rows: list[int]) -> None:
    """Rows may be in any order, repeated or absent, and in several shards."""
    names = [field.name for field in FIELDS if not field.per_trajectory]
    batch = dataset.batch(np.array(rows, dtype=np.int64), names)
    for name in names:
        expected = np.concatenate([arrays[name] for arrays in dataset.shards])[
            np.array(rows, dtype=np.int64)
        ]
        np.testing.assert_array_equal(batch[name], expected)
        assert batch[name].dtype == expected.dtype


def test_a_batch_is_a_copy_of_the_three_fields_that_training_needs(dataset: Dataset) -> None:
    """By default the batch has three fields; writing to it does not change the files."""
    batch = dataset.batch(np.array([8, 9, 11]))
    assert tuple(batch) == BATCH_FIELDS
    batch["observations"][:] = 0.0
    assert (dataset.column("observations")[[8, 9, 11]] != 0.0).all()


@pytest.mark.parametrize("row", [-1, ROWS, 10**9])
def test_rows_that_do_not_exist_are_refused(dataset: Dataset, row: int) -> None:
    """Uninitialised memory must never count as data."""
    with pytest.raises(DataError, match=f"has transitions 0 to {ROWS - 1}, not"):
        dataset.batch(np.array([0, row]))


@pytest.mark.parametrize("name", ["observation", "episodes/skill"])
def test_a_batch_of_an_unknown_field_is_refused(dataset: Dataset, name: str) -> None:
    """A label has one entry per trajectory, so a transition's number is not valid for it."""
    with pytest.raises(DataError, match=f"Unknown field '{name}'"):
        dataset.batch(np.array([0]), [name])


def test_a_column_is_all_shards_one_after_another(folder: Path, dataset: Dataset) -> None:
    """This includes labels; the arrays are loaded and do not need the files."""
    for field in FIELDS:
        column = dataset.column(field.name)
        assert type(column) is np.ndarray
        np.testing.assert_array_equal(
            column, np.concatenate([arrays[field.name] for arrays in dataset.shards])
        )
    with pytest.raises(
        DataError, match=f"{folder}: Unknown field 'reward'. Did you mean 'rewards'"
    ):
        dataset.column("reward")


def test_starts_count_through_the_shards(dataset: Dataset) -> None:
    """Starts count over the whole dataset, not per shard."""
    assert dataset.starts().tolist() == [0, 3, 4, 9, 11, 15]


def test_training_sees_transitions_and_terms_but_no_labels(dataset: Dataset) -> None:
    """Skill, checkpoint and source are absent; terms are at the positions of the layout."""
    transitions = dataset.transitions()
    assert len(transitions) == ROWS
    assert transitions.starts.tolist() == [0, 3, 4, 9, 11, 15]
    assert transitions.terms == {"velocity": slice(0, 1), "joints": slice(1, 4)}
    np.testing.assert_array_equal(transitions.actions, dataset.column("actions"))
    assert not {"skill", "checkpoint", "seed", "domain"} & set(vars(transitions))


def test_a_set_of_states_has_no_actions_to_give(tmp_path: Path) -> None:
    """The error lists the existing fields."""
    write_dataset(tmp_path, SHARDS, fields=STATE_FIELDS)
    dataset = Dataset(tmp_path)
    assert dataset.transitions().actions is None
    assert not dataset.has("actions")
    with pytest.raises(DataError, match="Unknown field 'actions'"):
        dataset.batch(np.array([0]))
    assert dataset.batch(np.array([0]), ("observations",))["observations"].shape == (1, 4)


def test_a_dataset_without_shards_is_refused(tmp_path: Path) -> None:
    """The dataset has no shard yet."""
    made_up_manifest().write(tmp_path)
    with pytest.raises(
        DataError,
        match=r"holds no trajectories yet. Run the solo-collect command that began it again",
    ):
        Dataset(tmp_path)


@pytest.mark.parametrize("name", ["transitions", "trajectories"])
def test_a_shard_of_another_size_than_in_the_manifest_is_refused(tmp_path: Path, name: str) -> None:
    """A file of another collection has the same name."""
    write_dataset(tmp_path, SHARDS)
    content = json.loads((tmp_path / MANIFEST_FILE).read_text())
    content["shards"][1][name] += 1
    (tmp_path / MANIFEST_FILE).write_text(json.dumps(content))
    with pytest.raises(
        DataError, match=r"shard-00001\.h5: 2 transitions in 1 trajectories, the manifest says"
    ):
        Dataset(tmp_path)


def test_not_finite_observations_are_refused_with_their_place(tmp_path: Path) -> None:
    """Training on them would give NaN weights hours later."""
    (arrays,) = write_dataset(tmp_path, ((3, 2),))
    arrays["next_observations"][4, 2] = np.nan
    write_shard(tmp_path / "shard-00000.h5", arrays)
    with pytest.raises(
        DataError, match=f"{tmp_path}: next_observations of transition 4 are not finite"
    ):
        Dataset(tmp_path).transitions()


def test_each_kind_of_dataset_is_recognised(tmp_path: Path) -> None:
    """A dataset of this project, a D4RL file and a Minari directory are read by one function."""
    data = made_up_transitions()
    write_d4rl(tmp_path / "d4rl.hdf5", data)
    write_minari(tmp_path / "minari", data, "made-up-v0")
    write_dataset(tmp_path / "ours", SHARDS)
    assert_same(read_transitions(tmp_path / "d4rl.hdf5"), data)
    assert_same(read_transitions(tmp_path / "minari"), data)
    assert_same(read_transitions(tmp_path / "ours"), Dataset(tmp_path / "ours").transitions())
    with pytest.raises(
        DataError, match=r"no such file or directory. Expected a dataset directory, a D4RL file,"
    ):
        read_transitions(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no manifest\.json"):
        read_transitions(tmp_path / "empty")


def test_the_length_of_an_episode_is_passed_on_to_d4rl_files(tmp_path: Path) -> None:
    """Some D4RL files do not mark where trajectories were cut."""
    data = made_up_transitions((4, 4), terminal=())
    write_d4rl(tmp_path / "d4rl.hdf5", data)
    with h5py.File(tmp_path / "d4rl.hdf5", "r+") as file:
        del file["timeouts"]
    assert_same(read_transitions(tmp_path / "d4rl.hdf5", max_episode_steps=4), data)


def test_a_shard_is_a_d4rl_file(folder: Path, dataset: Dataset) -> None:
    """D4RL tools can read it, here our own reader."""
    transitions = read_d4rl(folder / "shard-00000.h5")
    np.testing.assert_array_equal(transitions.observations, dataset.shards[0]["observations"])
    assert transitions.starts.tolist() == [0, 3, 4]
