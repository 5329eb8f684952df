"""solo-sweep: many runs of solo-train, one table. Killed, it goes on where it was."""

from __future__ import annotations

import csv
import statistics
import subprocess
from collections.abc import Callable, Sequence
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

TABLE_FILE, CSV_FILE = "table.md", "table.csv"


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
    """YAML file: names and, under each, what differs from the default configuration; eps may be among it."""
    data: Path | None = None
    """Coverage data, as in solo-train."""
    expert: Path | None = None
    """Expert's states, as in solo-train."""
    out: Path = Path("runs/sweep")
    """Directory of the runs and the table; runs in it that are finished are not run again."""
    workers: int = 1
    """Runs at a time; each takes one core."""


def sweep(command: SweepCommand, tell: Callable[[str], None]) -> Path:
    """Train what is missing, write the table, return its path; `tell` hears of every run that ended."""
    if command.workers < 1:
        raise SoloError(f"--workers {command.workers}: expected 1 or more.")
    jobs = grid(command)
    check_jobs(jobs)
    with exclusive(command.out, "Wait until it has ended, or choose another --out."):
        return _sweep(jobs, command, tell)


def _sweep(jobs: list[Job], command: SweepCommand, tell: Callable[[str], None]) -> Path:
    failed = []
    with ThreadPoolExecutor(max_workers=command.workers) as pool:
        for number, (job, reason) in enumerate(
            zip(jobs, pool.map(_train, jobs), strict=True), start=1
        ):
            tell(f"{number}/{len(jobs)} {job.run}: {reason or 'done'}")
            failed += [f"{job.run.name}: {reason}"] if reason else []
    if any(job.finished for job in jobs):
        write_tables(jobs, command.out)
    if failed:
        raise SoloError(
            f"{len(failed)} of {len(jobs)} runs failed; the table lacks them. First: {failed[0]}"
        )
    return command.out / TABLE_FILE


def grid(command: SweepCommand) -> list[Job]:
    """All runs: every variant with every eps it does not set itself, and every seed."""
    variants = {"default": {}} if command.variants is None else load(command.variants)
    if not variants or not all(isinstance(value, dict | None) for value in variants.values()):
        raise SoloError(f"{command.variants}: expected names, each with settings under it.")
    if not command.eps or not command.seeds:
        raise SoloError(
            "There is nothing to train: expected at least one number after --eps and --seeds."
        )
    places = {
        name: str(path)
        for name in ("data", "expert")
        if (path := getattr(command, name)) is not None
    }
    jobs: dict[Path, Job] = {}  # a number given twice is one run
    for name, changes in variants.items():
        settings = changes or {}
        for eps in (settings["eps"],) if "eps" in settings else command.eps:
            if not isinstance(eps, int | float):
                raise SoloError(
                    f"{command.variants}: eps of {name!r} is {eps!r}, expected a number."
                )
            for seed in command.seeds:
                run = command.out / f"{str(name).replace('/', '_')}-eps{eps:.12g}-seed{seed}"
                jobs[run] = Job(
                    str(name), {**places, **settings, "eps": float(eps), "seed": seed}, run
                )
    return list(jobs.values())


def write_tables(jobs: Sequence[Job], out: Path) -> None:
    """Medians over seeds as Markdown, every run as CSV."""
    rows = [_row(job) for job in jobs if job.finished]
    with replacing(out / CSV_FILE) as partial, partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    measures = [name for name in rows[0] if name not in ("variant", "eps", "seed")]
    lines = [
        f"| variant | eps | seeds | {' | '.join(measures)} |",
        "|" + "---|" * (3 + len(measures)),
    ]
    for variant, eps in dict.fromkeys((row["variant"], row["eps"]) for row in rows):
        same = [row for row in rows if (row["variant"], row["eps"]) == (variant, eps)]
        cells = [_spread([row[name] for row in same]) for name in measures]
        lines.append(f"| {variant} | {eps:g} | {len(same)} | {' | '.join(cells)} |")
    write_text(out / TABLE_FILE, "\n".join(lines) + "\n")


def _spread(values: list[float]) -> str:
    values = [value for value in values if value is not None]
    if not values:
        return ""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.2f}" if low == high else f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _row(job: Job) -> dict[str, Any]:
    summary = Run(job.run).summary
    sigma = summary.get("sigma")
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
    """Run solo-train for a job; return why it failed, if it did."""
    if job.finished:
        return None
    if RunFiles(job.run).config.is_file():
        arguments = ["--resume", str(job.run)]
    else:
        write_text(job.settings_file, yaml.safe_dump(job.settings))
        arguments = ["--config", str(job.settings_file), "--out", str(job.run)]
    command = program_command("from solo_doi.cli.train import train_main; train_main()", *arguments)
    with job.log_file.open("w") as log:  # not only at the end: it is there to be followed
        code = subprocess.run(
            command, env=child_environment(), stdout=log, stderr=subprocess.STDOUT, check=False
        ).returncode
    if not code:
        return None
    last = job.log_file.read_text().strip().rpartition("\n")[2]
    return last if code == 1 and last else f"ended with exit code {code}, see {job.log_file}"
