"""Errors that the user can correct."""

from __future__ import annotations

import pickle

import pytest

from solo_doi.common.errors import MissingPackageError, SoloError, UnknownNameError, one_line
from solo_doi.common.settings import ConfigError
from solo_doi.data.shard import DataError


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
def test_an_error_keeps_its_type_between_processes(error: SoloError) -> None:
    """A worker's error must reach the user with its type and message.

    An exception that cannot be unpickled breaks the pool.
    """
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)


def test_an_unknown_name_comes_with_the_nearest_and_all_others() -> None:
    """The message corrects a misspelt name."""
    assert str(UnknownNameError("task", "walc", ["walk", "run"])) == (
        "Unknown task 'walc'. Did you mean 'walk'? Known: run, walk."
    )


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (SoloError("no such file"), 1, "solo-x: no such file\n"),
        (KeyboardInterrupt(), 130, "solo-x: stopped. Go on later.\n"),
        (
            KeyboardInterrupt("Continue with --resume r."),
            130,
            "solo-x: stopped. Continue with --resume r.\n",
        ),
    ],
)
def test_a_command_ends_with_one_line(
    error: BaseException, code: int, told: str, capsys: pytest.CaptureFixture
) -> None:
    """User errors have no traceback; program errors keep it."""
    with pytest.raises(SystemExit) as exit_, one_line("solo-x", "Go on later."):
        raise error
    assert exit_.value.code == code
    assert capsys.readouterr().err == told
    with pytest.raises(ZeroDivisionError), one_line("solo-x"):
        raise ZeroDivisionError
