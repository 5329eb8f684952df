"""Sizes of tests: enough in CI, more in `.ci/full`."""

from __future__ import annotations

import os
from typing import TypeVar

FULL_VARIABLE = "SOLO_DOI_FULL_TESTS"
"""Environment variable that `.ci/full` sets."""
Size = TypeVar("Size")


def size(in_ci: Size, in_full: Size) -> Size:
    """Return the size of this run: that of `.ci/full` if it runs."""
    return in_full if os.environ.get(FULL_VARIABLE) else in_ci
