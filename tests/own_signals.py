"""Signals that a program sends to itself at a chosen moment of its work.

A test that waits for the moment and then sends the signal may come too late on a busy host.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from solo_doi.common import files
from solo_doi.common.metrics_log import METRICS_FILE, MetricsLog


@dataclass(frozen=True)
class Moment:
    """Moment at which a file is complete, or the log of a run has some lines."""

    file: str = METRICS_FILE
    """Name of the file."""
    lines: int = 0
    """Lines of the log; 0 for other files."""


def signal_at(moment: Moment, run: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Let this process send itself a signal at a moment of a run; for child processes only."""
    if moment.lines:
        _signal_at_step(run, moment.lines, number)
    else:
        _signal_at_file(run / moment.file, number)


def _signal_at_step(run: Path, step: int, number: signal.Signals) -> None:
    write = MetricsLog.write

    def writing(self: MetricsLog, step_now: int, metrics: dict[str, float]) -> None:
        write(self, step_now, metrics)
        if self._file == run / METRICS_FILE and step_now == step:
            os.kill(os.getpid(), number)

    MetricsLog.write = writing  # type: ignore[method-assign]


def _signal_at_file(awaited: Path, number: signal.Signals) -> None:
    replacing = files.replacing

    @contextmanager
    def watched(path: Path) -> Iterator[Path]:
        with replacing(path) as partial:
            yield partial
        if path == awaited:
            os.kill(os.getpid(), number)

    files.replacing = watched
