"""What a run tells: a progress bar for the eye, JSON lines and TensorBoard events for later."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

METRICS_FILE = "metrics.jsonl"


class RunLog:
    """Writes metrics of every iteration; use as a context manager."""

    def __init__(self, run: Path, iterations: int, num_skills: int, first: int = 0) -> None:
        """Append to the run's files from iteration `first` on; lines a killed run wrote beyond it are dropped."""
        self._file = run / METRICS_FILE
        self._num_skills = num_skills
        kept = [line for line in self._lines() if json.loads(line)["iteration"] <= first]
        self._file.write_text("".join(f"{line}\n" for line in kept))
        self._stream = self._file.open("a")
        self._tensorboard = SummaryWriter(str(run / "tensorboard"), purge_step=first + 1)
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[status]}"))
        self._progress = Progress(*columns, console=Console(stderr=True), refresh_per_second=2)
        self._bar = self._progress.add_task("", total=iterations, completed=first, status="")

    def iteration(self, number: int, metrics: dict[str, float]) -> None:
        """Record one finished iteration."""
        self._stream.write(json.dumps({"iteration": number, **metrics}) + "\n")
        self._stream.flush()
        for name, value in metrics.items():
            self._tensorboard.add_scalar(name, value, number)
        self._progress.update(self._bar, completed=number, status=self._status(metrics))

    def __enter__(self) -> Self:
        """Show the progress bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close files."""
        self._progress.stop()
        self._stream.close()
        self._tensorboard.close()

    def _status(self, metrics: dict[str, float]) -> str:
        parts = [
            f"{metrics['steps_per_second']:,.0f} steps/s",
            f"regular {metrics['reward/regular']:.2f}",
            f"task {metrics['reward/task']:.2f}",
        ]
        if self._num_skills > 1:
            slack = min(metrics[f"skills/slack_{skill}"] for skill in range(1, self._num_skills))
            parts += [f"slack {slack:+.2f}", f"distance {metrics['skills/distance']:.2f}"]
        return " · ".join(parts)

    def _lines(self) -> list[str]:
        """Return whole lines of an earlier part of the run; a line cut by a kill is dropped."""
        text = self._file.read_text() if self._file.exists() else ""
        return text.split("\n")[:-1]
