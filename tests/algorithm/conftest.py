"""Data and a run that many tests of training read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from solo_doi.data.dataset import read_transitions

from .runs import Data, tiny, train, write_made_up_task

torch.set_num_threads(
    1
)  # as in training: with more threads, small networks spend their time waiting


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Coverage data and expert's states; tests must not modify them."""
    folder = write_made_up_task(tmp_path_factory.mktemp("task")) / "datasets" / "locomotion"
    return read_transitions(folder / "coverage"), read_transitions(folder / "demonstrations")


@pytest.fixture(scope="package")
def run(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `tiny()`; tests must not modify it."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(tiny(), *data, path)
    return path
