"""The page about one run or bundle: every table and figure of its evaluation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.common.metrics_log import read_metrics
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RATIOS_OF_SKILLS

from .definitions import DEFINITIONS, DIVERSITY
from .eval_config import COMMANDED, EvalConfig
from .report import figures
from .report.html_report import Report
from .skill_evaluation import Evaluation
from .source import Source

SHOWN = (
    "return_pct",
    "vx",
    "falls",
    "height_mean",
    "height_std",
    "clearance",
    "frequency",
    "pair_phase",
    "energy",
)


def write_page(
    source: Source,
    evaluation: Evaluation,
    points: list[np.ndarray],
    config: EvalConfig,
    metrics: dict[str, Any],
    path: Path,
) -> None:
    """Draw all figures beside a page and put them into it."""
    out = path.parent
    out.mkdir(parents=True, exist_ok=True)
    report = Report(f"Skills of {metrics['run']}")
    report.text(
        f"{config.episodes} rollouts of {config.steps} control steps per skill in {config.sim}, randomisation "
        f"{config.randomisation}, commanded {COMMANDED:g} m/s, no exploration noise; the expert in the same domains."
    )
    rows = {f"skill {skill['skill']}": skill for skill in metrics["skills"]}
    rows |= {"smodice": metrics["smodice"]} if "smodice" in metrics else {}
    rows |= {"expert": metrics["expert"]}
    report.table(
        [
            {"": title} | {name: row.get(name, 100.0) for name in SHOWN}
            for title, row in rows.items()
        ]
    )
    report.figure(
        figures.skill_bars(metrics, out / "skills"), "Averages of every skill, with 95 % intervals."
    )
    if points:
        report.heading("Diversity")
        report.table(
            [{"measure": name, "value": metrics[name]} for name in DIVERSITY if name in metrics]
        )
        report.figure(
            figures.embedding(points, len(metrics["skills"]), out / "umap"),
            "Skills among rollouts of the expert.",
        )
    _training(report, source, metrics, out)
    _pictures(report, evaluation, out)
    if "transfer" in metrics:
        report.heading("Transfer")
        chosen = ", ".join(map(str, metrics["selected"])) or "none"
        rule, score = metrics["selection"]["rule"], metrics["transfer_score"]
        report.text(f"Selected: {chosen}. Rule: {rule}. Transfer score: {score:.2f}.")
        report.table(metrics["transfer"])
    report.heading("What the numbers mean")
    for name, meaning in DEFINITIONS.items():
        report.text(f"{name}: {meaning}.")
    report.write(path)


def _training(report: Report, source: Source, metrics: dict[str, Any], out: Path) -> None:
    run, trained = source.path, source.trained
    report.heading("Training")
    if trained is None:
        report.text(
            "A bundle holds policies alone. Multipliers, divergences, ratios and the course of training are absent: "
            f"they are in the report of what it was exported from, {metrics['exported_from']}."
        )
        return
    if lines := read_metrics(run):
        eps = trained.eps if trained.fixed_sigma is None and trained.alpha is None else None
        path = figures.over_training(lines, trained.skills, eps, out / "training")
        shown = "divergence from the expert" if eps is None else "violation of the constraint"
        report.figure(path, f"Multipliers, {shown} and distance of the ratios over training.")
    ratios = RunFiles(run).ratios
    if ratios.is_file():
        with h5py.File(ratios) as file:
            path = figures.ratios(file[RATIOS_OF_SKILLS][:], out / "ratios")
        report.figure(path, "Which transitions of the data each skill is made of.")
    if "history" in metrics:
        path = figures.history(metrics["history"], out / "history")
        report.figure(path, "Policies cloned at the run's checkpoints.")
    for warning in metrics.get("warnings", []):
        report.text(f"Warning from training: {warning}")


def _pictures(report: Report, evaluation: Evaluation, out: Path) -> None:
    from .report.motion_pictures import filmstrip, gait_diagram

    named = {f"skill {skill}": film for skill, film in enumerate(evaluation.films)}
    report.heading("Gaits")
    report.figure(
        gait_diagram(named, out / "gait"),
        "Feet on the ground over time, diagonal pairs in one colour.",
    )
    try:
        filmstrip(named, out / "film.png")
        report.figure(out / "film.png", "One stride of each skill, undisturbed.")
    except MissingPackageError as error:  # numbers are worth having on a machine that cannot render
        report.text(f"Film strips are missing. {error}")
        print(f"solo-eval: film strips are left out. {error}", file=sys.stderr)
