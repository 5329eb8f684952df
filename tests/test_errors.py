"""Errors that the user can mend."""

from __future__ import annotations

import pickle

import pytest

from solo_doi.config import ConfigError
from solo_doi.data.shard import DataError
from solo_doi.errors import MissingPackageError, SoloError, UnknownNameError


@pytest.mark.parametrize(
    "error",
    [
        SoloError("plain"),
        ConfigError("a subclass"),
        DataError("a file"),
        UnknownNameError("task", "walc", ["walk", "run"]),
        MissingPackageError("ray", "--ray", "Run: pip install ray"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_travels_between_processes_as_what_it_is(error: SoloError) -> None:
    """A worker's error must reach the user with kind and message; one that cannot be unpickled breaks the pool."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)


def test_an_unknown_name_comes_with_the_nearest_and_all_others() -> None:
    """A typing error is mended without looking anything up."""
    assert str(UnknownNameError("task", "walc", ["walk", "run"])) == (
        "Unknown task 'walc'. Did you mean 'walk'? Known: run, walk."
    )
