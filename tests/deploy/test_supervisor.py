"""What the supervisor does before anybody runs, and after all have ended."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deploy import supervisor
from deploy.recorder import WORK_FILE


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, in time that passes by waiting only."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(waited))
    return waited


def test_nobody_waits_for_a_log_that_nobody_writes(waits: list[float], tmp_path: Path) -> None:
    """A controller that was ended while it started has no recorder yet."""
    supervisor._await_log(tmp_path)
    assert waits == []


def test_a_recorder_at_work_is_waited_for(waits: list[float], tmp_path: Path) -> None:
    """But not for ever."""
    (tmp_path / WORK_FILE).touch()
    supervisor._await_log(tmp_path)
    assert sum(waits) == pytest.approx(supervisor.END, abs=0.1)
