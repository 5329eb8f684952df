"""Fixtures that tests of the deployment share."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard input; gives its other end."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)
