"""solo-sweep: a grid of training runs and a table of their results. A killed sweep continues."""

from __future__ import annotations

import csv
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from solo_doi.common.child_python import child_environment, program_command
from solo_doi.common.errors import SoloError
from solo_doi.common.files import replacing, write_text
from solo_doi.common.lock import exclusive
from solo_doi.common.settings import load

from .run import Run
from .run_files import RunFiles
from .sweep_checks import check_jobs
from .sweep_job import Job

TABLE_FILE = "table.md"
CSV_FILE = "table.csv"
KEYS = ("variant", "eps", "seed")
"""Columns that identify a run; all others are results."""


@dataclass(frozen=True, kw_only=True)
class SweepCommand:
    """Train a grid of variants x eps x seeds and tabulate the results.

    Examples:
      solo-sweep --eps 0 1 2 4 --seeds 1 2 3
      solo-sweep --variants sweep/ablation --seeds 1
    """

    eps: tuple[float, ...] = (2.0,)
    """Largest divergences of skills from the expert."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of every variant; the table has their medians."""
    variants: Path | None = None
    """YAML file: names of variants and, under each, settings that differ from the defaults. A
    variant may set eps."""
    data: Path | None = None
    """Coverage data, as in solo-train."""
    expert: Path | None = None
    """States of the expert, as in solo-train."""
    out: Path = Path("runs/sweep")
    """Directory of the runs and the table. Finished runs in it are not run again."""
    workers: int = 1
    """Runs at a time; each takes one core."""


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
    failed = []
    with ThreadPoolExecutor(max_workers=command.workers) as pool:
        results = zip(jobs, pool.map(_train, jobs), strict=True)
        for number, (job, reason) in enumerate(results, start=1):
            report(f"{number}/{len(jobs)} {job.run}: {reason or 'done'}")
            if reason:
                failed.append(f"{job.run.name}: {reason}")
    if any(job.finished for job in jobs):
        write_tables(jobs, command.out)
    if failed:
        raise SoloError(
            f"{len(failed)} of {len(jobs)} runs failed; the table lacks them. First: {failed[0]}"
        )
    return command.out / TABLE_FILE


def grid(command: SweepCommand) -> list[Job]:
    """Return all runs: every variant with every eps, unless it sets eps, and every seed."""
    variants: Mapping[str, Any] = {"default": {}}
    if command.variants is not None:
        variants = load(command.variants)
    if not variants or not all(isinstance(value, dict | None) for value in variants.values()):
        raise SoloError(f"{command.variants}: expected names, each with settings under it.")
    if not command.eps or not command.seeds:
        raise SoloError(
            "There is nothing to train: expected at least one number after --eps and --seeds."
        )
    places = {}
    if command.data is not None:
        places["data"] = str(command.data)
    if command.expert is not None:
        places["expert"] = str(command.expert)
    jobs: dict[Path, Job] = {}  # by directory: a number given twice is one run
    for name, changes in variants.items():
        settings = changes or {}
        values = command.eps
        if "eps" in settings:
            values = (settings["eps"],)
        for eps in values:
            if not isinstance(eps, int | float):
                raise SoloError(
                    f"{command.variants}: eps of {name!r} is {eps!r}, expected a number."
                )
            for seed in command.seeds:
                run = command.out / f"{str(name).replace('/', '_')}-eps{eps:.12g}-seed{seed}"
                content = {**places, **settings, "eps": float(eps), "seed": seed}
                jobs[run] = Job(str(name), content, run)
    return list(jobs.values())


def write_tables(jobs: Sequence[Job], out: Path) -> None:
    """Write medians over seeds as Markdown, and every run as CSV."""
    rows = [_row(job) for job in jobs if job.finished]
    with replacing(out / CSV_FILE) as partial, partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    measures = [name for name in rows[0] if name not in KEYS]
    lines = [
        f"| variant | eps | seeds | {' | '.join(measures)} |",
        "|" + "---|" * (3 + len(measures)),
    ]
    for variant, eps in dict.fromkeys((row["variant"], row["eps"]) for row in rows):
        same = [row for row in rows if (row["variant"], row["eps"]) == (variant, eps)]
        cells = [_spread([row[name] for row in same]) for name in measures]
        lines.append(f"| {variant} | {eps:g} | {len(same)} | {' | '.join(cells)} |")
    write_text(out / TABLE_FILE, "\n".join(lines) + "\n")


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


def _train(job: Job) -> str | None:
    """Run solo-train for a job; return the reason of a failure."""
    if job.finished:
        return None
    if RunFiles(job.run).config.is_file():
        arguments = ["--resume", str(job.run)]
    else:
        write_text(job.settings_file, yaml.safe_dump(job.settings))
        arguments = ["--config", str(job.settings_file), "--out", str(job.run)]
    command = program_command("from solo_doi.cli.train import train_main; train_main()", *arguments)
    with job.log_file.open("w") as log:  # written while it runs, so that it can be followed
        code = subprocess.run(
            command, env=child_environment(), stdout=log, stderr=subprocess.STDOUT, check=False
        ).returncode
    if not code:
        return None
    last = job.log_file.read_text().strip().rpartition("\n")[2]
    if code == 1 and last:
        return last
    return f"ended with exit code {code}, see {job.log_file}"
