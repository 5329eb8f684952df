"""What solo-train tells while it works: a bar per stage and the state of every skill, or plain lines in a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.common.metrics_log import MetricsLog
from solo_doi.common.progress import ProgressDisplay

from .run_files import RunFiles

SHOWN = {"sigma": ("sigma", 1), "phi": ("phi", 1), "effective_share": ("ESS %", 100)}
"""Metrics of every skill that are shown, with their label and scale."""
LINES = 10
"""Lines per stage where bars cannot be drawn."""
POINTS = 100
"""Of a curve of losses over the updates of a stage."""
NAME_WIDTH = 8


class Bars(Progress):
    """A bar per stage, and below them the state of the skills: beside the bars it would leave them no room."""

    status = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Bars, then the state."""
        yield self.make_tasks_table(self.tasks)
        if self.status:
            yield Padding(self.status, (0, 0, 0, NAME_WIDTH + 1))


class LossCurve:
    """Mean losses between two of `POINTS` points of a stage, which begins anew if it is run again."""

    def __init__(self, run: Path, stage: str, updates: int) -> None:
        """Begin the files of a stage of so many updates."""
        self._metrics = MetricsLog(RunFiles(run).stage(stage), "update", 0)
        self._total, self._done = updates, 0
        self._since: dict[str, list[float]] = {}

    def add(self, losses: dict[str, float]) -> None:
        """Count an update; write a point if it is time for one."""
        self._done += 1
        for name, loss in losses.items():
            self._since.setdefault(name, []).append(loss)
        if self._done * POINTS // self._total > (self._done - 1) * POINTS // self._total:
            self._metrics.write(
                self._done, {name: fmean(values) for name, values in self._since.items()}
            )
            self._since.clear()

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()


class TrainLog(ProgressDisplay):
    """Writes metrics of every outer step, and losses of the updates before and after; use as a context manager."""

    _bars: Bars

    def __init__(self, run: Path, skills: int, first: int, *, quiet: bool = False) -> None:
        """Continue the run's files after outer step `first`; `quiet` prints nothing."""
        self._run, self._skills = run, range(skills)
        self._curve: LossCurve | None = None
        self._metrics = MetricsLog(run, "outer", first)
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        columns = (
            TextColumn(f"{{task.description:>{NAME_WIDTH}}}"), BarColumn(bar_width=20), MofNCompleteColumn(),
            TimeRemainingColumn(),
        )  # fmt: skip
        plain = not self._console.is_terminal
        bars = Bars(*columns, console=self._console, refresh_per_second=2, disable=plain)
        super().__init__(bars, self._close)

    def stage(self, name: str, steps: int) -> None:
        """Begin a bar for a stage."""
        self._close_curve()
        self._bars.add_task(name, total=steps)

    def advance(self, losses: dict[str, float]) -> None:
        """One update of the stage is done."""
        if self._curve is None:
            task = self._bars.tasks[-1]
            self._curve = LossCurve(self._run, task.description, int(task.total or 1))
        self._curve.add(losses)
        self._advance("")

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Record an outer step."""
        self._metrics.write(number, metrics)
        state = self._state(metrics)
        self._bars.status = "\n".join(state)
        self._advance(" · ".join(["", *state]))

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
        done, total = int(task.completed), int(task.total or 1)
        if self._bars.disable and done * LINES // total > (done - 1) * LINES // total:
            self._console.print(f"{task.description} {done}/{total}{status}", soft_wrap=True)

    def _state(self, metrics: dict[str, float]) -> list[str]:
        parts = []
        for name, (label, scale) in SHOWN.items():
            found = [
                metrics[f"{name}/{skill}"] for skill in self._skills if f"{name}/{skill}" in metrics
            ]
            values = " ".join(f"{scale * value:.2f}".removeprefix("0") for value in found)
            parts += [f"{label} {values}"] if found else []
        if "discriminator_accuracy" in metrics:
            parts.append(f"named {metrics['discriminator_accuracy']:.0%}")
        return parts
