"""Metrics of a run, kept twice: JSON lines for programs, TensorBoard events for the eye."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from solo_doi.files import WriteError, reason, write_text

METRICS_FILE = "metrics.jsonl"


def read_metrics(run: Path) -> list[dict[str, float]]:
    """Read what a run logged, step by step; nothing if it has no log."""
    log = run / METRICS_FILE
    return [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []


class MetricsLog:
    """Appends a line per step; a continued run drops what was written beyond the step it continues from."""

    def __init__(self, run: Path, counter: str, first: int) -> None:
        """Continue the run's files after step `first`; `counter` is the step's name in every line."""
        self._counter = counter
        self._file = run / METRICS_FILE
        run.mkdir(parents=True, exist_ok=True)
        kept = [line for line in self._lines() if json.loads(line)[counter] <= first]
        write_text(self._file, "".join(f"{line}\n" for line in kept))  # killed here, it loses nothing
        self._stream = self._file.open("a")
        with self._writing():
            self._events = EventFile(run / "tensorboard", first)

    def write(self, number: int, metrics: dict[str, float]) -> None:
        """Record one finished step, counted from 1."""
        with self._writing():
            self._stream.write(json.dumps({self._counter: number, **metrics}) + "\n")
            self._stream.flush()
            self._events.write(number, metrics)

    def close(self) -> None:
        """Close files."""
        with self._writing():
            self._stream.close()
            self._events.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WriteError(
                f"{self._file.parent}: metrics cannot be written ({reason(error)}). Free space, then continue the run "
                "with --resume."
            ) from error

    def _lines(self) -> list[str]:
        """Return whole lines of an earlier part of the run; a line cut by a kill is dropped."""
        text = self._file.read_text() if self._file.exists() else ""
        return text.split("\n")[:-1]


class EventFile:
    """Scalars as TensorBoard reads them, written at once.

    TensorBoard's own writer has a thread and a queue, whose lock Ctrl-C may leave taken for ever: the run would hang.
    """

    def __init__(self, folder: Path, first: int) -> None:
        """Begin a file; what files before it tell of steps after `first` no longer counts."""
        folder.mkdir(parents=True, exist_ok=True)
        # By name, files come in the order of time.
        self._file = RecordWriter((folder / f"events.out.tfevents.{time.time():.6f}").open("wb"))
        self._record(file_version="brain.Event:2")
        self._record(step=first + 1, session_log=SessionLog(status=SessionLog.START))

    def write(self, step: int, scalars: dict[str, float]) -> None:
        """Record one step."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        self._record(step=step, summary=Summary(value=values))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _record(self, **content: Any) -> None:  # noqa: ANN401  # any field of an event
        self._file.write(Event(wall_time=time.time(), **content).SerializeToString())
        self._file.flush()
