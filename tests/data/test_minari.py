"""Reading and writing of Minari directories."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from solo_doi.data.dataset import read_transitions
from solo_doi.data.minari import DATA_FILE, METADATA_FILE, is_minari, read_minari, write_minari
from solo_doi.data.shard import DataError
from tests.common.disks import no_file_above, read_only

from .datasets import assert_same, made_up_transitions


def write_package_like(path: Path, steps: tuple[int, ...] = (3, 2)) -> Path:
    """Write a dataset like minari 0.5.4.

    It has chunked arrays that can grow, an `infos` group and float64 rewards.
    """
    folder = path / "data"
    folder.mkdir(parents=True)
    with h5py.File(folder / DATA_FILE, "w") as file:
        for number, count in enumerate(steps):
            group = file.create_group(f"episode_{number}")
            group.attrs.update(id=number, seed=number, total_steps=count)
            group.create_group("infos")
            observations = 100 * number + np.arange(2 * (count + 1), dtype=np.float64).reshape(
                count + 1, 2
            )
            group.create_dataset("observations", data=observations, maxshape=(None, 2), chunks=True)
            group.create_dataset(
                "actions", data=np.full((count, 3), number, dtype=np.float32), chunks=True
            )
            group.create_dataset("rewards", data=np.arange(count, dtype=np.float64), chunks=True)
            group.create_dataset(
                "terminations", data=np.arange(count) == (count - 1 if number % 2 else -1)
            )
            group.create_dataset(
                "truncations", data=np.arange(count) == (-1 if number % 2 else count - 1)
            )
    (folder / METADATA_FILE).write_text('{"dataset_id": "x/y-v0", "data_format": "hdf5"}')
    return path


def edit(path: Path, how: Callable[[h5py.File], object]) -> None:
    """Change the data of a dataset."""
    with h5py.File(path / "data" / DATA_FILE, "r+") as file:
        how(file)


def test_episodes_become_transitions(tmp_path: Path) -> None:
    """T + 1 observations give T transitions; the last successor is the stored last observation."""
    data = read_minari(write_package_like(tmp_path / "y-v0"))
    assert data.observations[:, 0].tolist() == [0, 2, 4, 100, 102]
    assert data.next_observations[:, 0].tolist() == [2, 4, 6, 102, 104]
    assert data.actions is not None
    assert data.actions[:, 0].tolist() == [0, 0, 0, 1, 1]
    assert data.starts.tolist() == [0, 3]
    assert data.terminals.tolist() == [False, False, False, False, True]
    assert data.timeouts.tolist() == [False, False, True, False, False]
    assert {array.dtype for array in (data.observations, data.rewards, data.actions)} == {
        np.dtype(np.float32)
    }


def test_episodes_are_read_by_number_not_by_name(tmp_path: Path) -> None:
    """HDF5 lists episode_10 before episode_2."""
    data = read_minari(write_package_like(tmp_path / "y-v0", (1,) * 12))
    assert data.observations[:, 0].tolist() == [100.0 * number for number in range(12)]


def test_the_data_folder_itself_may_be_named(tmp_path: Path) -> None:
    """Both paths are accepted."""
    path = write_package_like(tmp_path / "y-v0")
    assert is_minari(path)
    assert is_minari(path / "data")
    assert_same(read_minari(path), read_minari(path / "data"))
    assert not is_minari(tmp_path)


def test_an_episode_without_a_final_flag_is_a_time_out(tmp_path: Path) -> None:
    """A collector that was stopped in the middle sets no flag.

    The next episode is still another trajectory.
    """
    path = write_package_like(tmp_path / "y-v0")
    edit(path, lambda file: file["episode_0/truncations"].write_direct(np.zeros(3, dtype=bool)))
    data = read_minari(path)
    assert data.starts.tolist() == [0, 3]
    assert data.timeouts[2]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """All arrays are equal; terminals and time-outs stay distinct."""
    data = made_up_transitions((3, 1, 4), terminal=(1,))
    write_minari(tmp_path / "solo12" / "made-up-v0", data, "solo12/made-up-v0")
    assert_same(read_minari(tmp_path / "solo12" / "made-up-v0"), data)


def test_it_is_written_as_the_package_expects(tmp_path: Path) -> None:
    """The layout is the documented one.

    It has groups with attributes, an `infos` group, and spaces as JSON inside JSON.
    """
    write_minari(tmp_path / "made-up-v0", made_up_transitions((3, 1)), "made-up-v0")
    metadata = json.loads((tmp_path / "made-up-v0" / "data" / METADATA_FILE).read_text())
    assert {
        "dataset_id": "made-up-v0",
        "total_episodes": 2,
        "total_steps": 4,
        "data_format": "hdf5",
    }.items() <= (metadata.items())
    space = json.loads(metadata["action_space"])
    assert (space["type"], space["shape"], space["low"]) == ("Box", [2], [-np.inf, -np.inf])
    with h5py.File(tmp_path / "made-up-v0" / "data" / DATA_FILE) as file:
        assert sorted(file) == ["episode_0", "episode_1"]
        assert dict(file["episode_0"].attrs) == {"id": 0, "total_steps": 3}
        assert {name: len(file["episode_0"][name]) for name in file["episode_0"]} == {
            "observations": 4, "actions": 3, "rewards": 3, "terminations": 3, "truncations": 3,
            "infos": 0,
        }  # fmt: skip


def test_states_alone_cannot_be_written(tmp_path: Path) -> None:
    """Minari requires actions, and none are invented."""
    with pytest.raises(DataError, match="without actions cannot be written as Minari"):
        write_minari(tmp_path / "x-v0", replace(made_up_transitions(), actions=None), "x-v0")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["made-up", "", "../x-v0", "x-v", "solo 12/x-v0"])
def test_a_name_that_the_package_would_not_load_is_refused(tmp_path: Path, name: str) -> None:
    """The error comes at writing, not at reading on another machine."""
    with pytest.raises(
        DataError, match=r"is no name of a Minari dataset: expected one such as solo12/offline-v0"
    ):
        write_minari(tmp_path / "x-v0", made_up_transitions(), name)


def test_an_existing_dataset_is_not_overwritten(tmp_path: Path) -> None:
    """The dataset may contain results."""
    path = write_package_like(tmp_path / "y-v0")
    before = (path / "data" / DATA_FILE).read_bytes()
    with pytest.raises(DataError, match=r"exists already. Delete it or choose another place"):
        write_minari(path, made_up_transitions(), "y-v0")
    assert (path / "data" / DATA_FILE).read_bytes() == before


def test_a_full_disk_leaves_no_partial_dataset(tmp_path: Path) -> None:
    """A second attempt with enough space succeeds."""
    path = tmp_path / "x-v0"
    with (
        no_file_above(3000),
        pytest.raises(DataError, match=r"x-v0: cannot be written \(File too large\)"),
    ):
        write_minari(path, made_up_transitions((50, 50)), "x-v0")
    assert not is_minari(path)
    write_minari(path, made_up_transitions(), "x-v0")
    assert_same(read_minari(path), made_up_transitions())


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    """There is no traceback."""
    with (
        read_only(tmp_path),
        pytest.raises(DataError, match=r"x-v0: cannot be written \((Read-only|Permission denied)"),
    ):
        write_minari(tmp_path / "x-v0", made_up_transitions(), "x-v0")


def test_other_storages_are_refused_with_the_reason(tmp_path: Path) -> None:
    """Arrow and parquet need packages that we do not depend on."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / METADATA_FILE).write_text('{"data_format": "arrow"}')
    with pytest.raises(DataError, match=r"no main_data\.hdf5 in it .*not as arrow or parquet"):
        read_transitions(tmp_path)


def _replace(file: h5py.File, name: str, value: np.ndarray) -> None:
    del file[name]
    file[name] = value


def _nest(file: h5py.File) -> None:
    del file["episode_0/observations"]
    file.create_group("episode_0/observations/achieved_goal")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            _nest,
            "observations of /episode_0 are not one array: dictionary spaces are not supported",
        ),
        (lambda file: file.__delitem__("episode_1/rewards"), "/episode_1 has no 'rewards', found"),
        (
            lambda file: _replace(file, "episode_0/actions", np.zeros(3, dtype=np.int64)),
            r"actions \(3,\), expected one row of numbers per step: "
            r"discrete and image spaces are not supported",
        ),
        (
            lambda file: _replace(file, "episode_0/observations", np.zeros((3, 2))),
            "/episode_0 has 3 observations for 3 actions.*expected one more observation",
        ),
        (
            lambda file: _replace(file, "episode_1/rewards", np.zeros(5)),
            "/episode_1 has .* 5 rewards",
        ),
        (
            lambda file: _replace(file, "episode_1/observations", np.zeros((3, 5))),
            "episodes have different sizes",
        ),
        (
            lambda file: file.create_group("notes"),
            "holds 'notes', expected groups episode_0, episode_1 and so on only",
        ),
        (lambda file: file.clear(), "holds no episodes"),
        (
            lambda file: _replace(file, "episode_0/observations", np.full((4, 2), np.nan)),
            "observations of transition 0 are not finite",
        ),
    ],
)
def test_unreadable_episodes_are_refused_with_the_reason(
    tmp_path: Path, damage: Callable[[h5py.File], object], message: str
) -> None:
    """Each error names its episode."""
    path = write_package_like(tmp_path / "y-v0")
    edit(path, damage)
    with pytest.raises(DataError, match=message):
        read_minari(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    """Most of the file is missing."""
    path = write_package_like(tmp_path / "y-v0")
    file = path / "data" / DATA_FILE
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(DataError, match=r"main_data\.hdf5: not a readable HDF5 file"):
        read_minari(path)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    """The message names the expected content."""
    with pytest.raises(DataError, match=r"no main_data\.hdf5 in it or in its data folder"):
        read_minari(tmp_path)
