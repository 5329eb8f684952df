"""What tests of the deployment share."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def same_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the software named in contracts the same, whoever commits meanwhile."""
    monkeypatch.setattr("solo_doi.export.writer.software", lambda: {"commit": "0123456789ab"})


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard input; gives its other end."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)
