"""Tables, pictures and cards of a dataset."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from collect import dataset_overview as inspect
from collect.worker import shard_fields
from solo_doi.common.files import WriteError
from solo_doi.data.dataset import Dataset
from solo_doi.data.shard import map_shard, write_shard
from tests.common.disks import read_only

from .recipes import DATASETS

STEPS = 6


def text(table: Table) -> str:
    """Return the printed output, with one wide line per row."""
    console = Console(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO


def test_groups_are_summaries_by_checkpoint(collection: Path) -> None:
    """The reference is computed trajectory by trajectory, across shards."""
    dataset = Dataset(collection / "coverage")
    found = inspect.summarise_checkpoints(dataset)
    assert [group.name for group in found][0::6] == ["model_0.pt", "expert.pt"]
    assert [group.trajectories for group in found] == [16, 8, 4, 2, 1, 1, 3]
    assert [group.skills for group in found] == [3, 3, 3, 2, 1, 1, 1]
    position = dataset.column("infos/base_position").reshape(-1, STEPS, 3)[:16]
    rewards = dataset.column("rewards").reshape(-1, STEPS)[:16]
    assert found[0].length == STEPS
    assert found[0].reward == pytest.approx(rewards.mean(), rel=1e-5)
    assert found[0].height == pytest.approx(position[..., 2].mean(), rel=1e-5)
    moved = position[:, -1, 0] - position[:, 0, 0]
    assert found[0].velocity == pytest.approx((moved / (5 * 0.02)).mean(), rel=1e-4)
    assert found[0].falls == dataset.column("episodes/fallen")[:16].sum()


@pytest.mark.parametrize("name", DATASETS)
def test_the_table_names_sizes_and_checkpoints(collection: Path, name: str) -> None:
    """A dataset of states without labels is marked as having no checkpoints."""
    dataset = Dataset(collection / name)
    shown = " ".join(text(inspect.table(dataset)).split())
    assert (
        f"{dataset.manifest.num_trajectories} trajectories, {len(dataset):,} transitions" in shown
    )
    assert ("model_50.pt" in shown) == (name in ("offline", "coverage"))
    assert ("expert.pt" in shown) == (name in ("expert", "coverage"))
    assert ("states only: no actions, no checkpoints" in shown) == (name == "demonstrations")
    assert "not complete" not in shown


def test_ranges_are_those_of_the_observations(collection: Path) -> None:
    """Each term has one row; the command is always 1, 0, 0."""
    dataset = Dataset(collection / "offline")
    rows = {
        row.split()[0]: row.split()
        for row in text(inspect.ranges(dataset)).splitlines()
        if row.strip()
    }
    assert set(rows) >= {term["name"] for term in dataset.manifest.layout}
    assert rows["command"][-4:] == ["0.000", "0.333", "1.000", "0"]
    gravity = dataset.column("observations")[:, 30:33]
    assert rows["gravity"][-4:-1] == [
        f"{value:.3f}" for value in (gravity.min(), gravity.mean(), gravity.max())
    ]


def test_numbers_that_are_not_finite_are_counted(collection: Path, tmp_path: Path) -> None:
    """One term has two such numbers."""
    shutil.copytree(collection / "expert", tmp_path / "expert")
    path = tmp_path / "expert" / "shard-00001.h5"
    arrays = {
        name: np.array(array) for name, array in map_shard(path, shard_fields("locomotion")).items()
    }
    arrays["observations"][3, 31:33] = np.nan, np.inf
    write_shard(path, arrays)
    rows = {
        row.split()[0]: row.split()
        for row in text(inspect.ranges(Dataset(tmp_path / "expert"))).splitlines()[2:-1]
    }
    assert rows["gravity"][-1] == "2"
    assert rows["command"][-1] == "0"


def test_the_picture_is_not_blank(collection: Path, tmp_path: Path) -> None:
    """The picture has points in several colours; no other file is written."""
    inspect.picture(Dataset(collection / "coverage"), tmp_path / "overview.png")
    pixels = np.asarray(matplotlib.image.imread(tmp_path / "overview.png"))[..., :3]
    assert pixels.shape[0] > 300
    colourful = pixels[np.ptp(pixels, axis=-1) > 0.25]
    assert len(np.unique(np.round(colourful, 1), axis=0)) >= 5
    assert [path.name for path in tmp_path.iterdir()] == ["overview.png"]


@pytest.mark.parametrize("name", DATASETS)
def test_a_card_describes_the_dataset(collection: Path, tmp_path: Path, name: str) -> None:
    """It lists all fields, observation terms with unit and frame, versions, and a known seed."""
    shutil.copytree(collection / name, tmp_path / name)
    dataset = Dataset(tmp_path / name)
    card = inspect.write_card(dataset).read_text()
    assert card.startswith("---\n")
    assert f"\n---\n\n# locomotion / {name}\n" in card
    assert "arxiv.org" in card
    assert f"{dataset.manifest.num_trajectories} trajectories" in card
    for field in dataset.manifest.fields:
        assert f"| `{field.name}` | {field.dtype} {list(field.shape)} | {field.meaning} |" in card
    assert "| `gravity` | 3 | 1 | base | 0.1 |" in card
    assert "mujoco" in card
    assert (", seed 1)" in card) == (name != "demonstrations")


def test_a_read_only_dataset_is_one_clear_line(collection: Path, tmp_path: Path) -> None:
    """This holds for card and picture."""
    shutil.copytree(collection / "expert", tmp_path / "expert")
    dataset = Dataset(tmp_path / "expert")
    with read_only(tmp_path / "expert"):
        with pytest.raises(WriteError, match=r"README\.md: cannot be written"):
            inspect.write_card(dataset)
        with pytest.raises(WriteError, match=r"overview\.png: cannot be written"):
            inspect.picture(dataset, tmp_path / "expert" / inspect.OVERVIEW_FILE)
