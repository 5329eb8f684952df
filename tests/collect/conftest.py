"""Collections that many tests read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from collect.cli.pretrain import main
from collect.recipes import CollectConfig
from solo_doi.common import provenance
from tests.command import Command

from .recipes import UNKNOWN_COMMIT, collect_here, tiny, write_checkpoints


@pytest.fixture(scope="package", autouse=True)
def outside_git() -> Iterator[None]:
    """Record no commit, here and in child processes.

    A commit that is made while the tests run would change the manifests that they compare.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_DIR", os.devnull)
        patch.setattr(provenance, "commit", lambda: UNKNOWN_COMMIT)
        yield


@pytest.fixture(scope="package")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An expert and six checkpoints of three skills."""
    return write_checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="package")
def config(checkpoints: Path) -> CollectConfig:
    """The recipe of `collection`."""
    return tiny(checkpoints)


@pytest.fixture(scope="package")
def collection(config: CollectConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished collection; tests that change files take `copy`."""
    return collect_here(config, tmp_path_factory.mktemp("collection"))


@pytest.fixture
def copy(collection: Path, tmp_path: Path) -> Path:
    """A copy of the collection for tests that change files; its files are not hard links."""
    shutil.copytree(collection, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-pretrain, run in this process."""
    return Command("solo-pretrain", main, monkeypatch, capsys)
