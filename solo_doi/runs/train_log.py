"""Log of solo-train: metrics in files, progress on a terminal or as plain lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.common.metrics_log import MetricsLog
from solo_doi.common.progress import ProgressDisplay

from .run_files import RunFiles


class ShownMetric(NamedTuple):
    """A metric of every skill that is shown while training runs."""

    name: str
    label: str
    scale: float


SHOWN_METRICS = (
    ShownMetric("sigma", "sigma", 1),
    ShownMetric("phi", "phi", 1),
    ShownMetric("effective_share", "ESS %", 100),
)
LINES = 10
"""Lines per stage if bars cannot be drawn."""
POINTS = 100
"""Points of a loss curve."""
NAME_WIDTH = 8
"""Characters of a stage's name."""


class Bars(Progress):
    """A bar per stage, and below them the metrics of all skills."""

    status = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the bars, then the metrics."""
        yield self.make_tasks_table(self.tasks)
        if self.status:
            yield Padding(self.status, (0, 0, 0, NAME_WIDTH + 1))


class LossCurve:
    """Losses of a stage, averaged between `POINTS` points. A stage that runs again starts over."""

    def __init__(self, run: Path, stage: str, updates: int) -> None:
        """Start the files of a stage with so many updates."""
        self._metrics = MetricsLog(RunFiles(run).stage(stage), "update", 0)
        self._total = updates
        self._done = 0
        self._since: dict[str, list[float]] = {}

    def add(self, losses: dict[str, float]) -> None:
        """Count an update; write a point if one is due."""
        self._done += 1
        for name, loss in losses.items():
            self._since.setdefault(name, []).append(loss)
        if _is_due(self._done, self._total, POINTS):
            means = {name: fmean(values) for name, values in self._since.items()}
            self._metrics.write(self._done, means)
            self._since.clear()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()


class TrainLog(ProgressDisplay):
    """Metrics of every outer step and losses of all updates; use as a context manager."""

    _bars: Bars

    def __init__(self, run: Path, skills: int, first: int, *, quiet: bool = False) -> None:
        """Continue the run's files after outer step `first`; `quiet` prints nothing."""
        self._run = run
        self._skills = skills
        self._curve: LossCurve | None = None
        self._metrics = MetricsLog(run, "outer", first)
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        bars = Bars(
            TextColumn(f"{{task.description:>{NAME_WIDTH}}}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            refresh_per_second=2,
            disable=not self._console.is_terminal,
        )
        super().__init__(bars, self._close)

    def stage(self, name: str, steps: int) -> None:
        """Start a bar for a stage."""
        self._close_curve()
        self._bars.add_task(name, total=steps)

    def advance(self, losses: dict[str, float]) -> None:
        """Record one update of the stage."""
        if self._curve is None:
            task = self._bars.tasks[-1]
            self._curve = LossCurve(self._run, task.description, int(task.total or 1))
        self._curve.add(losses)
        self._advance("")

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Record an outer step."""
        self._metrics.write(number, metrics)
        status = self._status(metrics)
        self._bars.status = "\n".join(status)
        self._advance(" · ".join(["", *status]))

    def warn(self, text: str) -> None:
        """Print a warning above the bars."""
        self._console.print(f"warning: {text}", soft_wrap=self._bars.disable)

    def _close_curve(self) -> None:
        if self._curve is not None:
            self._curve.close()
            self._curve = None

    def _close(self) -> None:
        self._close_curve()
        self._metrics.close()

    def _advance(self, status: str) -> None:
        task = self._bars.tasks[-1]
        self._bars.advance(task.id)
        done = int(task.completed)
        total = int(task.total or 1)
        if self._bars.disable and _is_due(done, total, LINES):
            self._console.print(f"{task.description} {done}/{total}{status}", soft_wrap=True)

    def _status(self, metrics: dict[str, float]) -> list[str]:
        """Return one text per shown metric."""
        parts = []
        for shown in SHOWN_METRICS:
            values = []
            for skill in range(self._skills):
                name = f"{shown.name}/{skill}"
                if name in metrics:
                    values.append(f"{shown.scale * metrics[name]:.2f}".removeprefix("0"))
            if values:
                parts.append(f"{shown.label} {' '.join(values)}")
        if "discriminator_accuracy" in metrics:
            parts.append(f"named {metrics['discriminator_accuracy']:.0%}")
        return parts


def _is_due(done: int, total: int, count: int) -> bool:
    """Return True at `count` evenly spaced steps of `total`; the last is one of them."""
    return done * count // total > (done - 1) * count // total
