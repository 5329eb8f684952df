"""Log of a run: progress bar, JSON lines and TensorBoard events."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from solo_doi.common.metrics_log import MetricsLog
from solo_doi.common.progress import ProgressDisplay

SHOWN_KINDS = ("reward", "wall")
"""Kinds of metrics beside the progress bar."""


class RunLog(ProgressDisplay):
    """Writer of each iteration's metrics; use as a context manager."""

    def __init__(self, run: Path, iterations: int, num_skills: int, first: int = 0) -> None:
        """Append to the run's files from iteration `first` on; drop later lines of a killed run."""
        self._num_skills = num_skills
        self._metrics = MetricsLog(run, "iteration", first)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}"),
        )
        bars = Progress(*columns, console=Console(stderr=True), refresh_per_second=2)
        super().__init__(bars, self._metrics.close)
        self._bar = bars.add_task("", total=iterations, completed=first, status="")

    def iteration(self, number: int, metrics: dict[str, float]) -> None:
        """Record one finished iteration."""
        self._metrics.write(number, metrics)
        self._bars.update(self._bar, completed=number, status=self._status(metrics))

    def _status(self, metrics: dict[str, float]) -> str:
        parts = [f"{metrics['steps_per_second']:,.0f} steps/s"]
        for name, value in metrics.items():
            kind, _, group = name.partition("/")
            if kind in SHOWN_KINDS and group != "intrinsic":
                parts.append(f"{group} {value:.2f}")
        if self._num_skills > 1:
            slack = min(metrics[f"skills/slack_{skill}"] for skill in range(1, self._num_skills))
            parts += [f"slack {slack:+.2f}", f"distance {metrics['skills/distance']:.2f}"]
        return " · ".join(parts)
