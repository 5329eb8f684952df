"""Files of other projects as they are found: read, or refused with the remedy."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest

from solo_doi.data.dataset import is_foreign, read_transitions
from solo_doi.data.shard import DataError

from .test_d4rl import ROWS, at, write_file
from .test_minari import write_package_like


class RunsCode:
    """Object whose pickle would end the process when it is opened."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return a call that unpickling makes."""
        return exit, (7,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_pickles_are_never_opened(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "demonstrations.pkl"
    path.write_bytes(pickle.dumps(RunsCode(), protocol))
    with pytest.raises(DataError, match=r"a pickle, not an HDF5 file\. Pickles are never opened"):
        read_transitions(path)


def test_other_formats_are_named(tmp_path: Path) -> None:
    states = np.zeros((3, 2))
    np.save(tmp_path / "states.npy", states)
    np.savez(tmp_path / "states.npz", states)
    (tmp_path / "states.hdf5.gz").write_bytes(gzip.compress(b"states"))
    for name, kind in {
        "states.npy": "a NumPy array",
        "states.npz": "a zip archive",
        "states.hdf5.gz": "a gzip archive",
    }.items():
        with pytest.raises(DataError, match=rf"{name}: {kind}.*Convert it .* to HDF5"):
            read_transitions(tmp_path / name)


def test_demonstrations_of_states_alone_are_read(tmp_path: Path) -> None:
    path = write_file(tmp_path / "expert.hdf5", actions=None, rewards=None, timeouts=at(2, 5))
    data = read_transitions(path)
    assert data.actions is None
    assert np.isnan(data.rewards).all()
    assert data.starts.tolist() == [0, 2]
    assert len(data) == ROWS - 2  # the last row of each trajectory has no next observation


def test_the_flag_for_files_without_timeouts_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--max-episode-steps"):
        read_transitions(write_file(tmp_path / "maze2d.hdf5"))


def test_the_file_inside_a_minari_dataset_is_read_as_the_dataset(tmp_path: Path) -> None:
    folder = write_package_like(tmp_path / "expert-v0")
    whole = read_transitions(folder)
    inner = read_transitions(folder / "data" / "main_data.hdf5")
    np.testing.assert_array_equal(inner.observations, whole.observations)
    np.testing.assert_array_equal(inner.starts, whole.starts)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_folder_of_minari_datasets_lists_them(tmp_path: Path, depth: int) -> None:
    root = tmp_path / "minari"
    write_package_like(root / "hopper/expert-v0")
    write_package_like(root / "hopper/medium-v0")
    named = root if depth == 2 else root / "hopper"
    with pytest.raises(DataError, match=r"a folder of Minari datasets.*expert-v0, .*medium-v0\."):
        read_transitions(named)


def test_data_of_other_programs_are_recognised(tmp_path: Path) -> None:
    dataset = tmp_path / "own"
    write_package_like(dataset)
    (dataset / "manifest.json").write_text("{}")
    for path, foreign in {
        write_file(tmp_path / "hopper.hdf5", timeouts=at(5)): True,
        write_package_like(tmp_path / "expert-v0"): True,
        dataset: False,
        tmp_path: False,
        tmp_path / "nowhere": False,
    }.items():
        assert is_foreign(path) is foreign, path
