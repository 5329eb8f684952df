"""Task that the path of the coverage data implies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from solo_doi.data.manifest import MANIFEST_FILE, Manifest
from solo_doi.data.shard import DataError
from solo_doi.runs.run_config import implied_task
from tests.data.datasets import write_dataset
from tests.data.test_minari import write_package_like


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("hopper_medium-v2.hdf5", "hopper"),
        ("halfcheetah-random-v2.hdf5", "halfcheetah"),
        ("walker2d_expert-v2.hdf5", "walker2d"),
        ("ant_random-v2.hdf5", "ant"),
        ("antmaze-umaze-v2.hdf5", "gym"),
        ("maze2d-open-v0.hdf5", "gym"),
        ("locomotion_x.hdf5", "gym"),
    ],
)
def test_files_of_d4rl_begin_with_the_environment(tmp_path: Path, name: str, task: str) -> None:
    (tmp_path / name).touch()
    assert implied_task(str(tmp_path / name)) == task


def test_minari_has_a_folder_of_the_environment(tmp_path: Path) -> None:
    assert implied_task(str(write_package_like(tmp_path / "mujoco/ant/expert-v0"))) == "ant"
    assert implied_task(str(write_package_like(tmp_path / "D4RL/door/human-v0"))) == "gym"


def test_other_data_are_of_locomotion(tmp_path: Path) -> None:
    for data in ("", str(tmp_path), str(tmp_path / "hopper_nowhere.hdf5")):
        assert implied_task(data) == "locomotion"


def test_datasets_name_their_task(tmp_path: Path) -> None:
    """A manifest decides, whatever the folder is called."""
    folder = tmp_path / "walker2d"
    write_dataset(folder, [[3]])
    assert implied_task(str(folder)) == "locomotion"
    manifest = Manifest.read(folder)
    replace(manifest, task="halfcheetah").write(folder)
    assert implied_task(str(folder)) == "halfcheetah"


def test_a_damaged_manifest_is_an_error(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_FILE).write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        implied_task(str(tmp_path))
