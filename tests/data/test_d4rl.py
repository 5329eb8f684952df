"""Reading and writing of D4RL files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.common.files import WriteError
from solo_doi.data.d4rl import read_d4rl, write_d4rl
from solo_doi.data.shard import DataError
from tests.common.disks import no_file_above

from .datasets import assert_same, made_up_transitions

ROWS = 6
STATES = np.arange(ROWS, dtype=np.float32)[:, None] * [1.0, 10.0]  # row i is (i, 10 i)


def write_file(path: Path, *, compression: str | None = None, **changes: object) -> Path:
    """Write a file like D4RL's own scripts, without `timeouts`.

    A change of None removes an array.
    """
    content: dict[str, object] = {
        "observations": STATES.astype(np.float32),
        "actions": np.ones((ROWS, 3), dtype=np.float32),
        "rewards": np.arange(ROWS, dtype=np.float32),
        "terminals": np.zeros(ROWS, dtype=bool),
        "infos/qpos": np.zeros((ROWS, 2)),
        "metadata/algorithm": "SAC",
    } | changes
    with h5py.File(path, "w") as file:
        for name, value in content.items():
            if value is not None:
                file.create_dataset(
                    name, data=value, compression=compression if np.ndim(value) else None
                )
    return path


def at(*rows: int) -> np.ndarray:
    """Return flags that are set at some rows."""
    return np.isin(np.arange(ROWS), rows)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Terminals and time-outs stay distinct, including the last fragment."""
    data = made_up_transitions((3, 1, 4), terminal=(1,))
    write_d4rl(tmp_path / "data.hdf5", data)
    assert_same(read_d4rl(tmp_path / "data.hdf5"), data)


def test_it_is_written_with_the_names_that_d4rl_reads(tmp_path: Path) -> None:
    """The arrays are flat, of type float32 and bool."""
    write_d4rl(tmp_path / "data.hdf5", made_up_transitions())
    with h5py.File(tmp_path / "data.hdf5") as file:
        kinds = {name: dataset.dtype.kind for name, dataset in file.items()}
    numbers, flags = (
        ("observations", "actions", "next_observations", "rewards"),
        ("terminals", "timeouts"),
    )
    assert kinds == dict.fromkeys(numbers, "f") | dict.fromkeys(flags, "b")


def test_states_alone_cannot_be_written(tmp_path: Path) -> None:
    """D4RL requires actions, and none are invented."""
    with pytest.raises(DataError, match="without actions cannot be written as D4RL"):
        write_d4rl(tmp_path / "data.hdf5", replace(made_up_transitions(), actions=None))
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    """No partial file is left."""
    with no_file_above(100), pytest.raises(WriteError, match=r"data\.hdf5: cannot be written"):
        write_d4rl(tmp_path / "data.hdf5", made_up_transitions())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_stored_successors_are_taken_as_they_are(tmp_path: Path, compression: str | None) -> None:
    """All rows are kept, including a time-out with its stored successor.

    Metadata and infos are ignored.
    """
    path = write_file(
        tmp_path / "d4rl.hdf5",
        compression=compression,
        next_observations=STATES + 0.5,
        timeouts=at(2),
        terminals=at(5),
    )
    data = read_d4rl(path)
    assert len(data) == ROWS
    np.testing.assert_array_equal(data.next_observations, STATES + 0.5)
    assert data.starts.tolist() == [0, 3]
    assert data.timeouts.tolist() == at(2).tolist()
    assert data.terminals.tolist() == at(5).tolist()
    assert data.terms == {"observation": slice(0, 2)}


def test_without_successors_the_next_row_is_taken_and_cut_ends_are_dropped(tmp_path: Path) -> None:
    """Rows 0 1 2|3 4 5 are cut after 2 and at the end of the file.

    Rows 2 and 5 are dropped, because their successors are unknown.
    """
    data = read_d4rl(write_file(tmp_path / "d4rl.hdf5", timeouts=at(2)))
    assert data.observations[:, 0].tolist() == [0, 1, 3, 4]
    assert data.next_observations[:, 0].tolist() == [1, 2, 4, 5]
    assert data.starts.tolist() == [0, 2]
    assert data.timeouts.tolist() == [False, True, False, True]
    assert not data.terminals.any()
    assert data.rewards.tolist() == [0, 1, 3, 4]


def test_without_successors_a_terminal_row_is_kept(tmp_path: Path) -> None:
    """Its successor is masked by the flag and never comes from the next episode.

    This also holds at the end of the file.
    """
    data = read_d4rl(write_file(tmp_path / "d4rl.hdf5", timeouts=at(), terminals=at(2, 5)))
    assert data.observations[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert data.next_observations[:, 0].tolist() == [1, 2, 2, 4, 5, 5]
    assert data.starts.tolist() == [0, 3]
    assert not data.timeouts.any()


def test_a_trajectory_of_one_cut_row_is_dropped(tmp_path: Path) -> None:
    """Row 3 alone follows a terminal at 2; the terminal does not become a time-out."""
    data = read_d4rl(write_file(tmp_path / "d4rl.hdf5", timeouts=at(3), terminals=at(2)))
    assert data.observations[:, 0].tolist() == [0, 1, 2, 4]
    assert data.terminals.tolist() == [False, False, True, False]
    assert data.timeouts.tolist() == [False, False, False, True]
    assert data.starts.tolist() == [0, 3]


def test_a_row_that_is_both_terminal_and_cut_counts_as_terminal(tmp_path: Path) -> None:
    """Some files set both flags at the last step."""
    data = read_d4rl(write_file(tmp_path / "d4rl.hdf5", timeouts=at(2), terminals=at(2)))
    assert data.observations[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert data.terminals[2]


def test_without_timeouts_the_length_of_an_episode_is_needed(tmp_path: Path) -> None:
    """The message names the missing argument."""
    path = write_file(tmp_path / "maze.hdf5")
    with pytest.raises(
        DataError, match=r"has no 'timeouts'.*max_episode_steps.*1000 for most MuJoCo"
    ):
        read_d4rl(path)


def test_without_timeouts_episodes_are_cut_at_their_length_counted_from_the_last_end(
    tmp_path: Path,
) -> None:
    """With length 3 and a terminal at 1, episodes are 0 1|2 3 4|5; row 5 is a fragment."""
    path = write_file(tmp_path / "maze.hdf5", terminals=at(1), next_observations=STATES)
    data = read_d4rl(path, max_episode_steps=3)
    assert data.starts.tolist() == [0, 2, 5]
    assert data.timeouts.tolist() == at(4, 5).tolist()


@given(flags=st.lists(st.sampled_from(["", "terminal", "timeout"]), min_size=1, max_size=12))
def test_every_transition_stays_within_its_trajectory(
    tmp_path_factory: pytest.TempPathFactory, flags: list[str]
) -> None:
    """For any flags, the successor of a kept row is the next row, or masked.

    Only cut ends are dropped.
    """
    rows = len(flags)
    states = np.arange(rows, dtype=np.float32)[:, None]
    terminals, timeouts = (
        np.array([flag == name for flag in flags]) for name in ("terminal", "timeout")
    )
    path = tmp_path_factory.getbasetemp() / "flags.hdf5"
    write_file(
        path, observations=states, actions=states, rewards=states[:, 0], terminals=terminals,
        timeouts=timeouts,
        **{"infos/qpos": None},
    )  # fmt: skip
    timeouts[-1] |= not terminals[-1]
    if (timeouts & ~terminals).all():
        with pytest.raises(DataError, match=r"flags\.hdf5: There is no whole transition"):
            read_d4rl(path)
        return
    data = read_d4rl(path)
    assert data.observations[:, 0].tolist() == np.flatnonzero(terminals | ~timeouts).tolist()
    inner = ~data.terminals
    np.testing.assert_array_equal(data.next_observations[inner], data.observations[inner] + 1)
    number = np.cumsum(
        np.concatenate([[0], (terminals | timeouts)[:-1]])
    )  # of each row's trajectory
    kept = number[data.observations[:, 0].astype(int)]
    np.testing.assert_array_equal(np.diff(kept) > 0, np.diff(data.trajectory) > 0)


def test_columns_of_one_number_are_flattened(tmp_path: Path) -> None:
    """Some files store rewards and flags as (N, 1), and flags as numbers."""
    path = write_file(
        tmp_path / "d4rl.hdf5",
        rewards=np.arange(ROWS, dtype=np.float64)[:, None],
        terminals=at(2)[:, None].astype(np.uint8),
        timeouts=at(5)[:, None].astype(np.float32),
    )
    data = read_d4rl(path)
    assert data.rewards.tolist() == [0, 1, 2, 3, 4]
    assert data.rewards.dtype == np.float32
    assert data.terminals.tolist() == [False, False, True, False, False]


def test_double_precision_becomes_single(tmp_path: Path) -> None:
    """Training works in single precision."""
    data = read_d4rl(write_file(tmp_path / "d4rl.hdf5", observations=STATES, timeouts=at()))
    assert data.observations.dtype == data.next_observations.dtype == np.float32


@pytest.mark.parametrize("name", ["observations", "terminals"])
def test_a_missing_array_is_named_with_what_was_found(tmp_path: Path, name: str) -> None:
    """The file is cut or not a D4RL file."""
    path = write_file(tmp_path / "d4rl.hdf5", **{name: None})
    with pytest.raises(
        DataError, match=rf"lacks \['{name}'\], found .*'metadata'.*Expected a D4RL file"
    ):
        read_d4rl(path, max_episode_steps=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("actions", np.ones((ROWS - 1, 3))),
        ("actions", np.ones(ROWS)),
        ("terminals", np.zeros(ROWS + 1)),
        ("rewards", np.zeros((ROWS, 2))),
        ("timeouts", np.zeros(ROWS - 1)),
        ("next_observations", np.zeros((ROWS, 2, 2))),
        ("rewards", np.float32(1.0)),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(
    tmp_path: Path, name: str, value: np.ndarray
) -> None:
    """The message contains the shape found and the one expected."""
    path = write_file(tmp_path / "d4rl.hdf5", **{name: value})
    with pytest.raises(DataError, match=rf"d4rl\.hdf5: {name} has shape .*, expected \({ROWS}, "):
        read_d4rl(path, max_episode_steps=3)


@pytest.mark.parametrize("content", [b"", b"observations,actions\n1,2\n"], ids=["empty", "text"])
def test_a_file_that_is_not_hdf5_is_refused(tmp_path: Path, content: bytes) -> None:
    """The file is CSV or an aborted download."""
    (tmp_path / "data.hdf5").write_bytes(content)
    with pytest.raises(DataError, match=r"data\.hdf5: not a readable HDF5 file \("):
        read_d4rl(tmp_path / "data.hdf5")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    """Half of the file is missing."""
    path = write_file(tmp_path / "d4rl.hdf5", compression="gzip", timeouts=at())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match="not a readable HDF5 file"):
        read_d4rl(path)
