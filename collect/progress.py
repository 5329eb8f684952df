"""Progress of a collection."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.data.manifest import ShardEntry

from .recipe import CollectConfig


class CollectProgress:
    """A bar over trajectories; use as a context manager."""

    def __init__(self, trajectories: int, config: CollectConfig) -> None:
        """Count up to `trajectories`, those that are still missing."""
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("trajectories"), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), refresh_per_second=4)
        self._bar = self._progress.add_task(config.task, total=trajectories)

    def advance(self, entry: ShardEntry) -> None:
        """Count the trajectories of a finished shard."""
        self._progress.advance(self._bar, entry.trajectories)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it is."""
        self._progress.stop()
