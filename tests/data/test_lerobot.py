"""Reading and writing of LeRobotDatasets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.data import lerobot_reader, lerobot_writer
from solo_doi.data.dataset import is_foreign, labelled_task, read_transitions
from solo_doi.data.lerobot_layout import EPISODES_FILE, INFO_FILE, STATS_FILE, TASKS_FILE
from solo_doi.data.lerobot_reader import read_lerobot
from solo_doi.data.lerobot_writer import data_file_name, write_lerobot
from solo_doi.data.shard import DataError

from .datasets import assert_same, made_up_transitions

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `lerobot`")
from pyarrow import parquet  # noqa: E402  # after the check


def written(folder: Path, task: str = "locomotion") -> Path:
    """Write made-up data as a dataset at 50 frames per second."""
    path = folder / "walks"
    write_lerobot(path, made_up_transitions(), task, 0.02)
    return path


def foreign(folder: Path, **columns: Any) -> Path:
    """Write a dataset as another program does: two episodes of three and two frames."""
    path = folder / "foreign"
    table = {
        "observation.state": [[10.0 * row, 1.0] for row in range(5)],
        "observation.force": [float(row) for row in range(5)],
        "action": [[0.5 * row] for row in range(5)],
        "episode_index": [0, 0, 0, 1, 1],
        "index": [0, 1, 2, 3, 4],
        **columns,
    }
    table = {name: column for name, column in table.items() if column is not None}
    shapes = {"observation.state": [2], "observation.force": [1], "action": [1]}
    features = {
        name: {"dtype": "float32", "shape": shapes.get(name, [1]), "names": None} for name in table
    }
    features["observation.images.front"] = {"dtype": "video", "shape": [3, 8, 8], "names": None}
    (path / "meta").mkdir(parents=True)
    info = {"codebase_version": "v3.0", "features": features}
    (path / INFO_FILE).write_text(json.dumps(info))
    file = path / data_file_name(0)
    file.parent.mkdir(parents=True)
    parquet.write_table(pyarrow.table(table), file)
    return path


def change(path: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Change the description of a dataset."""
    info = json.loads((path / INFO_FILE).read_text())
    how(info)
    (path / INFO_FILE).write_text(json.dumps(info))


def test_everything_comes_back(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert_same(read_lerobot(path), made_up_transitions())
    assert_same(read_transitions(path), made_up_transitions())
    assert is_foreign(path)
    assert labelled_task(path) == "locomotion"


def test_files_are_split_between_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With almost no space per file, each episode has its own; the table says which."""
    monkeypatch.setattr(lerobot_writer, "FILE_MEGABYTES", 1e-9)
    monkeypatch.setattr(lerobot_writer, "FILES_PER_CHUNK", 2)
    data = made_up_transitions()
    path = written(tmp_path)
    files = sorted(str(file.relative_to(path)) for file in path.glob("data/*/*"))
    assert files == [data_file_name(number) for number in range(len(data.starts))]
    episodes = parquet.read_table(path / EPISODES_FILE).to_pydict()
    numbers = np.arange(len(data.starts))
    assert episodes["data/chunk_index"] == (numbers // 2).tolist()
    assert episodes["data/file_index"] == (numbers % 2).tolist()
    assert episodes["dataset_from_index"] == data.starts.tolist()
    assert sum(episodes["length"]) == len(data)
    assert_same(read_lerobot(path), data)


def test_descriptions_are_those_of_the_format(tmp_path: Path) -> None:
    """Every column is a feature with statistics of its width; tasks are an index of pandas."""
    data = made_up_transitions()
    path = written(tmp_path)
    info = json.loads((path / INFO_FILE).read_text())
    assert (info["codebase_version"], info["fps"]) == ("v3.0", 50)
    assert (info["total_frames"], info["total_episodes"]) == (len(data), len(data.starts))
    table = parquet.read_table(path / data_file_name(0))
    assert {*table.schema.names} == {*info["features"]}
    statistics = json.loads((path / STATS_FILE).read_text())
    for name, feature in info["features"].items():
        assert len(statistics[name]["mean"]) == feature["shape"][0]
    np.testing.assert_allclose(
        statistics["observation.state"]["max"], data.observations.max(axis=0)
    )
    names = info["features"]["observation.state"]["names"]
    assert len(names) == data.observations.shape[1]
    assert table["timestamp"].to_pylist()[:2] == [0.0, pytest.approx(0.02)]
    pandas = json.loads(parquet.read_schema(path / TASKS_FILE).metadata[b"pandas"])
    assert pandas["index_columns"] == ["__index_level_0__"]


def test_numbers_of_other_programs_are_terms(tmp_path: Path) -> None:
    """The last frame of an episode has no successor and is dropped; videos are not read."""
    data = read_lerobot(foreign(tmp_path))
    assert data.terms == {"state": slice(0, 2), "force": slice(2, 3)}
    np.testing.assert_array_equal(data.observations[:, 0], [0, 10, 30])
    np.testing.assert_array_equal(data.next_observations[:, 2], [1, 2, 4])
    np.testing.assert_array_equal(data.actions, [[0], [0.5], [1.5]])
    assert np.isnan(data.rewards).all()
    assert data.starts.tolist() == [0, 2]


def test_frames_are_put_in_order(tmp_path: Path) -> None:
    path = foreign(tmp_path, index=[4, 3, 2, 1, 0], episode_index=[1, 1, 0, 0, 0])
    np.testing.assert_array_equal(read_lerobot(path).observations[:, 0], [40, 30, 10])


def test_a_terminal_frame_is_kept(tmp_path: Path) -> None:
    data = read_lerobot(foreign(tmp_path, **{"next.terminal": [False, False, True, False, False]}))
    assert data.terminals.tolist() == [False, False, True, False]
    assert data.starts.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda info: info.update(codebase_version="v2.1"), "version 'v2.1'.*converts"),
        (lambda info: info.pop("features"), "not the description"),
        (lambda info: info.update(features=[]), "not the description"),
        (lambda info: info["features"].pop("action"), "expected action"),
        (lambda info: info.update(solo_doi={"terms": 3}), "damaged"),
        (lambda info: info.update(features={"action": {}}), "no feature observation"),
    ],
)
def test_other_descriptions_are_refused(
    tmp_path: Path, how: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = foreign(tmp_path)
    change(path, how)
    with pytest.raises(DataError, match=message):
        read_lerobot(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"observation.state": [[1.0], [1.0, 2.0], [1.0], [1.0], [1.0]]}, "different lengths"),
        ({"observation.state": [[1.0, None]] * 5}, "missing numbers"),
        ({"observation.state": [[[1.0], [1.0]]] * 5}, "different lengths"),
        ({"observation.force": ["a"] * 5}, "expected numbers"),
        ({"observation.force": [{"a": 1}] * 5}, "expected lists"),
        ({"action": [[1.0], None, [1.0], [1.0], [1.0]]}, "missing values"),
        ({"observation.state": [[float("nan"), 1.0]] * 5}, "not finite"),
    ],
)
def test_damaged_columns_are_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_lerobot(foreign(tmp_path, **columns))


def test_bytes_that_are_not_parquet_are_one_line(tmp_path: Path) -> None:
    path = foreign(tmp_path)
    (path / data_file_name(0)).write_bytes(b"PAR1 and more")
    with pytest.raises(DataError, match="not readable as Parquet"):
        read_lerobot(path)
    (path / data_file_name(0)).unlink()
    with pytest.raises(DataError, match="no data/chunk"):
        read_lerobot(path)


def test_a_column_that_is_only_described_is_missed(tmp_path: Path) -> None:
    path = foreign(tmp_path)
    change(path, lambda info: info["features"].update({"next.reward": {"dtype": "float32"}}))
    with pytest.raises(DataError, match=r"lacks \['next.reward'\]"):
        read_lerobot(path)


def test_data_beyond_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign(tmp_path)
    monkeypatch.setattr(lerobot_reader, "available_memory", lambda: 100)
    with pytest.raises(SoloError, match="GB of memory"):
        read_lerobot(path)


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    path = foreign(tmp_path)
    file = path / data_file_name(0)
    file.rename(tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(SoloError, match="is a link"):
        read_lerobot(path)


def test_only_whole_frame_rates_are_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no whole number of frames"):
        write_lerobot(tmp_path / "walks", made_up_transitions(), "", 0.03)
    with pytest.raises(DataError, match="without actions"):
        write_lerobot(tmp_path / "walks", replace(made_up_transitions(), actions=None), "", 0.02)
    assert not [*tmp_path.iterdir()]


def test_the_error_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"solo-doi\[lerobot\]"):
        read_lerobot(path)
