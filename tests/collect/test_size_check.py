"""Collections that cannot fit are refused before anything is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from collect.recipes import CollectConfig
from collect.size_check import check_size
from solo_doi.common.errors import SoloError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 1e9}, r"--scale 1e\+09: needs at least 128 TB of memory"),
        ({"scale": 1e5}, r"--scale 100000: needs at least 80 TB of disk space"),
        (
            {"scale": 1e5, "shard_trajectories": 10**9},
            r"--shard-trajectories 1000000000: needs at least 40 TB of memory",
        ),
    ],
)
def test_absurd_sizes_are_refused(changes: dict[str, float], message: str, tmp_path: Path) -> None:
    config = replace(CollectConfig(), **changes)  # type: ignore[arg-type]  # numbers
    with pytest.raises(SoloError, match=message):
        check_size(config, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_papers_datasets_fit(tmp_path: Path) -> None:
    check_size(CollectConfig(scale=0.1), tmp_path)
