"""Shards made on a Ray cluster."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from collect.collector import SOURCES, collect
from collect.recipes import CollectConfig
from solo_doi.common.errors import MissingPackageError
from solo_doi.sim import SimulationError

from .recipes import fingerprint, write_overflowing_checkpoints


def test_the_error_without_ray_names_the_package(
    config: CollectConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray is optional; one machine uses processes."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        MissingPackageError, match=r"--ray needs the package 'ray'.*pip install 'solo-doi\[ray\]'"
    ):
        collect(config, tmp_path, 1, ray=True)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a cluster on this machine; skip if Ray is not installed."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'solo-doi[ray]'")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.usefixtures("ray")
def test_a_cluster_makes_the_same_bytes(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Two workers compute; the main process writes the files."""
    assert collect(config, tmp_path, 2, ray=True)
    expected = {
        name: value
        for name, value in fingerprint(collection).items()
        if name.split("/")[0] in SOURCES
    }
    assert fingerprint(tmp_path) == expected


@pytest.mark.usefixtures("ray")
def test_an_error_on_the_cluster_reaches_the_user_unchanged(
    config: CollectConfig, tmp_path: Path
) -> None:
    """The error is one line, not the remote traceback."""
    folder = write_overflowing_checkpoints(tmp_path / "checkpoints")
    with pytest.raises(SimulationError, match=r"^target of robot 0.*$") as caught:
        collect(replace(config, checkpoints=folder), tmp_path / "out", 1, ray=True)
    assert "\n" not in str(caught.value)
