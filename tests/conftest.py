"""Settings of all tests: the same examples in every run, none failed for being slow, arithmetic as it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def subnormal_numbers() -> Iterator[None]:
    """Give tests back the smallest numbers, which training has the processor round to zero."""
    yield
    if "torch" in sys.modules:  # or nobody switched them off
        sys.modules["torch"].set_flush_denormal(False)
