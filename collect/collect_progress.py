"""Progress of a collection."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.common.progress import ProgressDisplay
from solo_doi.data.manifest import ShardEntry

from .recipes import CollectConfig


class CollectProgress(ProgressDisplay):
    """Progress bar over trajectories; use as a context manager."""

    def __init__(self, trajectories: int, config: CollectConfig) -> None:
        """Count up to `trajectories`, the number of missing ones."""
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("trajectories"),
            TimeRemainingColumn(),
        )
        super().__init__(Progress(*columns, console=Console(stderr=True), refresh_per_second=4))
        self._bar = self._bars.add_task(config.task, total=trajectories)

    def advance(self, entry: ShardEntry) -> None:
        """Count the trajectories of a finished shard."""
        self._bars.advance(self._bar, entry.trajectories)
