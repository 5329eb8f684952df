"""TensorBoard event files."""

from __future__ import annotations

import time
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter


class EventFile:
    """Writer of scalars for TensorBoard, without a thread.

    TensorBoard's own writer has a thread and a queue. Ctrl-C may leave the queue locked, and the
    run would hang.
    """

    def __init__(self, folder: Path, first: int) -> None:
        """Start a file. TensorBoard ignores steps after `first` in older files."""
        folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads files in the order of their names: the time comes first.
        self._file = RecordWriter((folder / f"events.out.tfevents.{time.time():.6f}").open("wb"))
        self._record(Event(file_version="brain.Event:2"))
        start = SessionLog(status=SessionLog.START)
        self._record(Event(step=first + 1, session_log=start))

    def write(self, step: int, scalars: dict[str, float]) -> None:
        """Record one step."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        self._record(Event(step=step, summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _record(self, event: Event) -> None:
        event.wall_time = time.time()
        self._file.write(event.SerializeToString())
        self._file.flush()
