"""solo-sweep: a grid of training runs and a table of their results. A killed sweep continues."""

from __future__ import annotations

import csv
import signal
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from solo_doi.common.errors import SoloError
from solo_doi.common.files import replacing, write_text
from solo_doi.common.lock import exclusive
from solo_doi.common.settings import load

from .run import Run
from .run_config import command_defaults
from .sweep_checks import check_jobs
from .sweep_command import SweepCommand
from .sweep_job import Job
from .sweep_processes import TrainingProcesses

SWEEP_TABLE_FILE = "table.md"
CSV_FILE = "table.csv"
KEY_COLUMNS = ("variant", "eps", "seed")
"""Columns that identify a run; all others are results."""


class JobTrainer(Protocol):
    """Runs jobs, from several threads."""

    def run(self, job: Job) -> str | None:
        """Train a job if it is not finished; return the reason of a failure."""

    def end(self) -> None:
        """End all running jobs, and start no other."""


def sweep(command: SweepCommand, report: Callable[[str], None]) -> Path:
    """Train all runs that are not finished, write the table and return its path.

    `report` is called with a line for every run that ended.
    """
    if command.workers < 1:
        raise SoloError(f"--workers {command.workers}: expected 1 or more.")
    jobs = grid(command)
    check_jobs(jobs)
    with exclusive(command.out, "Wait until it has ended, or choose another --out."):
        return _train_all(jobs, command, report)


def _train_all(jobs: list[Job], command: SweepCommand, report: Callable[[str], None]) -> Path:
    if command.ray:
        from .sweep_ray import ray_trainer  # an optional package

        with ray_trainer(command.ray, command.out) as trainer:
            return _train_with(trainer, trainer.workers, jobs, command, report)
    return _train_with(TrainingProcesses(), command.workers, jobs, command, report)


def _train_with(
    trainer: JobTrainer,
    workers: int,
    jobs: list[Job],
    command: SweepCommand,
    report: Callable[[str], None],
) -> Path:
    failed = []
    pool = ThreadPoolExecutor(max_workers=workers)
    with _ending_together(pool, trainer):
        reasons = pool.map(trainer.run, jobs)
        for number, (job, reason) in enumerate(zip(jobs, reasons, strict=True), start=1):
            report(f"{number}/{len(jobs)} {job.run}: {reason or 'done'}")
            if reason:
                failed.append(f"{job.run.name}: {reason}")
    if any(job.finished for job in jobs):
        write_tables(jobs, command.out)
    if failed:
        raise SoloError(
            f"{len(failed)} of {len(jobs)} runs failed; the table lacks them. First: {failed[0]}"
        )
    return command.out / SWEEP_TABLE_FILE


@contextmanager
def _ending_together(pool: ThreadPoolExecutor, trainer: JobTrainer) -> Iterator[None]:
    """End the pool, and its processes before it if the sweep is interrupted.

    SIGTERM is an interrupt, too: without a handler it would leave training processes behind.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    previous = signal.getsignal(signal.SIGTERM)
    if in_main_thread:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        trainer.end()  # none is running after an orderly end
        pool.shutdown(cancel_futures=True)
        if in_main_thread:
            signal.signal(signal.SIGTERM, previous)


def grid(command: SweepCommand) -> list[Job]:
    """Return all runs: every variant with every eps, unless it sets eps, and every seed."""
    variants: Mapping[str, Any] = {"default": {}}
    if command.variants is not None:
        variants = load(command.variants)
    if not variants or not all(isinstance(value, dict | None) for value in variants.values()):
        raise SoloError(f"{command.variants}: expected names, each with settings under it.")
    if command.eps == () or not command.seeds:
        raise SoloError(
            "There is nothing to train: expected at least one number after --eps and --seeds."
        )
    places = {}
    if command.task:
        places["task"] = command.task
    if command.data is not None:
        places["data"] = str(command.data)
    if command.expert is not None:
        places["expert"] = str(command.expert)
    jobs: dict[Path, Job] = {}  # by directory: a number given twice is one run
    for name, changes in variants.items():
        settings = changes or {}
        for eps in _eps_of({**places, **settings}, command.eps):
            if not isinstance(eps, int | float):
                raise SoloError(
                    f"{command.variants}: eps of {name!r} is {eps!r}, expected a number."
                )
            for seed in command.seeds:
                run = command.out / f"{str(name).replace('/', '_')}-eps{eps:.12g}-seed{seed}"
                content = {**places, **settings, "eps": float(eps), "seed": seed}
                jobs[run] = Job(str(name), content, run)
    return list(jobs.values())


def _eps_of(settings: Mapping[str, Any], asked: tuple[float, ...] | None) -> Sequence[Any]:
    """Return the variant's own eps, or else those on the command line, or else solo-train's."""
    if "eps" in settings:
        return (settings["eps"],)
    if asked is not None:
        return asked
    return (command_defaults(lambda name, otherwise: str(settings.get(name, otherwise))).eps,)


def write_tables(jobs: Sequence[Job], out: Path) -> None:
    """Write medians over seeds as Markdown, and every run as CSV."""
    rows = [_row(job) for job in jobs if job.finished]
    with replacing(out / CSV_FILE) as partial, partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    measures = [name for name in rows[0] if name not in KEY_COLUMNS]
    lines = [
        f"| variant | eps | seeds | {' | '.join(measures)} |",
        "|" + "---|" * (3 + len(measures)),
    ]
    for variant, eps in dict.fromkeys((row["variant"], row["eps"]) for row in rows):
        same = [row for row in rows if (row["variant"], row["eps"]) == (variant, eps)]
        cells = [_spread([row[name] for row in same]) for name in measures]
        lines.append(f"| {variant} | {eps:g} | {len(same)} | {' | '.join(cells)} |")
    write_text(out / SWEEP_TABLE_FILE, "\n".join(lines) + "\n")


def _spread(values: list[float | None]) -> str:
    """Return the median, and the range if values differ."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    median = f"{statistics.median(known):.2f}"
    if min(known) == max(known):
        return median
    return f"{median} ({min(known):.2f} to {max(known):.2f})"


def _row(job: Job) -> dict[str, Any]:
    """Return the row of a finished run."""
    summary = Run(job.run).summary
    sigma = summary.get("sigma")  # None without multipliers
    return {
        "variant": job.variant,
        "eps": job.settings["eps"],
        "seed": job.settings["seed"],
        "phi min": min(summary["phi"]),
        "phi max": max(summary["phi"]),
        "sigma min": min(sigma) if sigma else None,
        "sigma max": max(sigma) if sigma else None,
        "l1": summary.get("ratio_l1"),
        "l1 per trajectory": summary.get("ratio_l1_trajectory"),
        "skills named": summary.get("held_out_accuracy"),
        "effective share": summary["effective_share_mean"],
    }
