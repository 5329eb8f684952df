"""What solo-train tells while it works: a bar per stage, and the state of every skill."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.metrics_log import MetricsLog

SHOWN = {"sigma": "sigma", "phi": "phi", "effective_share": "ESS %"}
"""Metrics of every skill that the bar shows."""


class TrainLog:
    """Writes metrics of every outer step; use as a context manager."""

    def __init__(self, run: Path, skills: int, first: int) -> None:
        """Continue the run's files after outer step `first`."""
        self._skills = range(skills)
        self._metrics = MetricsLog(run, "outer", first)
        columns = (
            TextColumn("{task.description:>8}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[status]}"),
        )  # fmt: skip
        self._progress = Progress(*columns, console=Console(stderr=True), refresh_per_second=2)
        self._bar = self._progress.add_task("", total=None, status="")

    def stage(self, name: str, steps: int) -> None:
        """Begin a bar for a stage."""
        self._bar = self._progress.add_task(name, total=steps, status="")

    def advance(self) -> None:
        """One step of the stage is done."""
        self._progress.advance(self._bar)

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Record an outer step."""
        self._metrics.write(number, metrics)
        self._progress.update(self._bar, advance=1, status=self._status(metrics))

    def warn(self, text: str) -> None:
        """Print a warning above the bars."""
        self._progress.console.print(f"warning: {text}", highlight=False)

    def __enter__(self) -> Self:
        """Show the bars."""
        self._progress.remove_task(self._bar)
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close files."""
        self._progress.stop()
        self._metrics.close()

    def _status(self, metrics: dict[str, float]) -> str:
        parts = []
        for name, label in SHOWN.items():
            scale = 100 if name == "effective_share" else 1
            values = " ".join(f"{scale * metrics[f'{name}/{skill}']:.2f}".removeprefix("0") for skill in self._skills)
            parts.append(f"{label} {values}")
        if "discriminator_accuracy" in metrics:
            parts.append(f"named {metrics['discriminator_accuracy']:.0%}")
        return " · ".join(parts)
