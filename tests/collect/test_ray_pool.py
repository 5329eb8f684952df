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


def test_without_ray_it_is_said_what_to_install(
    config: CollectConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is optional: one machine needs nothing but processes."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        MissingPackageError, match=r"--ray needs the package 'ray'.*pip install 'solo-doi\[ray\]'"
    ):
        collect(config, tmp_path, 1, ray=True)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where Ray is not installed; where it is, start a cluster of this machine."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'solo-doi[ray]'")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.usefixtures("ray")
def test_a_cluster_makes_the_same_bytes(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """With two workers; files are written by the process that asked."""
    assert collect(config, tmp_path, 2, ray=True)
    expected = {
        name: value
        for name, value in fingerprint(collection).items()
        if name.split("/")[0] in SOURCES
    }
    assert fingerprint(tmp_path) == expected


@pytest.mark.usefixtures("ray")
def test_an_error_on_the_cluster_reaches_the_user_as_what_it_was(
    config: CollectConfig, tmp_path: Path
) -> None:
    """The error is one line, not the remote machine's traceback."""
    folder = write_overflowing_checkpoints(tmp_path / "checkpoints")
    with pytest.raises(SimulationError, match=r"^target of robot 0.*$") as caught:
        collect(replace(config, checkpoints=folder), tmp_path / "out", 1, ray=True)
    assert "\n" not in str(caught.value)
