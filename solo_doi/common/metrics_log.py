"""Metrics of a run, written as JSON lines and as TensorBoard events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import SoloError
from .files import WriteError, reason, write_text

METRICS_FILE = "metrics.jsonl"
EVENTS_FOLDER = "tensorboard"


def read_metrics(run: Path, counter: str = "outer") -> list[dict[str, float]]:
    """Read the metrics of every step; empty if the run has no log.

    `counter` is the key of the step's number in every line.
    """
    return [step for _, step in _steps(run / METRICS_FILE, counter)]


def _steps(file: Path, counter: str) -> list[tuple[str, dict[str, float]]]:
    """Return every line as text and as metrics."""
    if not file.is_file():
        return []
    try:
        # The part after the last line break is empty, or a line that was not written completely.
        *lines, _ = file.read_text().split("\n")
    except (OSError, ValueError) as error:
        raise SoloError(
            f"{file}: cannot be read ({reason(error)}). Expected a JSON object per line."
        ) from error
    steps = []
    for number, line in enumerate(lines, 1):
        steps.append((line, _step(line, f"{file}, line {number}", counter)))
    return steps


def _step(line: str, where: str, counter: str) -> dict[str, float]:
    try:
        step = json.loads(line)
    except ValueError as error:
        raise SoloError(
            f"{where}: not JSON ({error}). Delete the line; the run's other files do not need it."
        ) from error
    if not isinstance(step, dict) or not isinstance(step.get(counter), int):
        raise SoloError(
            f"{where}: expected an object with a number {counter!r}, found {line[:40]!r}. "
            "Delete the line."
        )
    return step


class MetricsLog:
    """Log of metrics, one line per step.

    A continued run removes the steps after the one that it continues from.
    """

    def __init__(self, run: Path, counter: str, first: int) -> None:
        """Continue the run's files after step `first`; `counter` is the key of a step's number."""
        from .event_file import EventFile  # readers of metrics need no TensorBoard

        self._counter = counter
        self._file = run / METRICS_FILE
        with self._writing():
            run.mkdir(parents=True, exist_ok=True)
            kept = [line for line, step in _steps(self._file, counter) if step[counter] <= first]
            # Atomic: a process that is killed here loses no line.
            write_text(self._file, "".join(f"{line}\n" for line in kept))
            self._stream = self._file.open("a")
            self._events = EventFile(run / EVENTS_FOLDER, first)

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
                f"{self._file.parent}: metrics cannot be written ({reason(error)}). Free space, "
                "then continue the run with --resume."
            ) from error
