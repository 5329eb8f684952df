"""A stored trajectory, simulated again from its seed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from collect.trajectory_replay import COMPARED, replay
from collect.worker import shard_fields
from solo_doi.data.shard import DataError, map_shard, write_shard

from .recipes import collect_here, tiny


@pytest.mark.parametrize(
    ("name", "trajectories"),
    [("expert", (0, 11)), ("offline", (0, 13, 31)), ("coverage", (5, 32, 34))],
)
def test_a_trajectory_of_every_source_is_replayed_to_the_same_numbers(
    collection: Path, name: str, trajectories: tuple[int, ...]
) -> None:
    """A trajectory is replayed alone, although it was made among others.

    All fields are equal, including hidden experts.
    """
    for trajectory in trajectories:
        assert replay(collection / name, trajectory) == dict.fromkeys(COMPARED, 0.0)


def test_pybullet_replays_too(checkpoints: Path, tmp_path: Path) -> None:
    """Fields that PyBullet cannot vary are nominal in both runs."""
    pytest.importorskip("pybullet", reason="PyBullet has no wheel for this Python")
    config = tiny(
        checkpoints,
        expert=3,
        offline=6,
        steps=3,
        sim="pybullet",
        coverage_expert=1,
        demonstrations=1,
    )
    out = collect_here(config, tmp_path)
    for name in ("expert", "offline"):
        assert replay(out / name, 2) == dict.fromkeys(COMPARED, 0.0)


@pytest.mark.parametrize("name", ["actions", "observations", "episodes/domain/friction"])
def test_a_changed_number_gives_a_difference(collection: Path, tmp_path: Path, name: str) -> None:
    """A changed action, observation or recorded physics parameter gives a difference above zero."""
    shutil.copytree(collection / "expert", tmp_path / "expert")
    path = tmp_path / "expert" / "shard-00000.h5"
    arrays = {
        key: np.array(array) for key, array in map_shard(path, shard_fields("locomotion")).items()
    }
    arrays[name][0] += 0.5
    write_shard(path, arrays)
    assert max(replay(tmp_path / "expert", 0).values()) > 0.0
    assert max(replay(tmp_path / "expert", 5).values()) == 0.0


@pytest.mark.parametrize("trajectory", [-1, 12])
def test_a_trajectory_that_does_not_exist_is_refused(collection: Path, trajectory: int) -> None:
    """The message lists the existing ones."""
    with pytest.raises(DataError, match=f"has trajectories 0 to 11, not {trajectory}"):
        replay(collection / "expert", trajectory)


def test_demonstrations_cannot_be_replayed(collection: Path) -> None:
    """The files contain neither actions nor seeds."""
    with pytest.raises(DataError, match="holds states only, neither actions nor seeds"):
        replay(collection / "demonstrations", 0)
