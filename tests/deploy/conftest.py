"""Fixtures that tests of the deployment share."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Replace standard input by a terminal; return its other end."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


@pytest.fixture(autouse=True)
def network_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let checks pass without the right to make network interfaces; no test needs it here.

    Tests that make interfaces start processes in a network of their own.
    """
    monkeypatch.setattr("deploy.robots.registry.may_make_interfaces", lambda: True)
