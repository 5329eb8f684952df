"""Settings of all tests: the same examples in every run, none failed for being slow, arithmetic as it was."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from solo_doi.sim import IsaacConfig

from .isaac_double.interpreters import double, plain_interpreter, quick_interpreter

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # `&` in a script has it ignored, by children too
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and so has `nohup` this one


@pytest.fixture(autouse=True)
def subnormal_numbers() -> Iterator[None]:
    """Give tests back the smallest numbers, which training has the processor round to zero."""
    yield
    if "torch" in sys.modules:  # or nobody switched them off
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def isaac_double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsaacConfig]:
    """Isaac Gym's double, in workers that start quickly."""
    with quick_interpreter(tmp_path_factory.mktemp("isaac")) as python:
        yield double(python)


@pytest.fixture
def isaac_slow_start(tmp_path: Path) -> IsaacConfig:
    """Isaac Gym's double in workers that start as they do for users."""
    return double(plain_interpreter(tmp_path))
