"""Report about one run or bundle: all tables and figures of its evaluation."""

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

COLUMNS = {
    "return_pct": "return_pct [%]",
    "vx": "vx [m/s]",
    "falls": "falls",
    "height_mean": "height_mean [m]",
    "height_std": "height_std [m]",
    "clearance": "clearance [m]",
    "frequency": "frequency [Hz]",
    "pair_phase": "pair_phase [cycles]",
    "energy": "energy [J/m]",
}
"""Measures in the table of skills, with their titles."""


def write_page(
    source: Source,
    evaluation: Evaluation,
    points: list[np.ndarray],
    config: EvalConfig,
    metrics: dict[str, Any],
    path: Path,
) -> None:
    """Write the report, and its figures beside it.

    Args:
        source: The evaluated run or bundle.
        evaluation: Its rollouts.
        points: UMAP points of the expert, every skill and the recovered expert; may be empty.
        config: Settings of the evaluation.
        metrics: Content of metrics.json.
        path: File of the report.
    """
    out = path.parent
    out.mkdir(parents=True, exist_ok=True)
    report = Report(f"Skills of {metrics['run']}")
    report.text(
        f"{config.episodes} rollouts of {config.steps} control steps per skill in {config.sim}, "
        f"randomisation {config.randomisation}, commanded {COMMANDED:g} m/s, no exploration noise. "
        "The expert runs in the same domains."
    )
    _add_skills(report, metrics, out)
    if points:
        _add_diversity(report, metrics, points, out)
    _add_training(report, source, metrics, out)
    _add_gaits(report, evaluation, out)
    if "transfer" in metrics:
        _add_transfer(report, metrics)
    report.heading("Definitions")
    for name, meaning in DEFINITIONS.items():
        report.text(f"{name}: {meaning}.")
    report.write(path)


def _add_skills(report: Report, metrics: dict[str, Any], out: Path) -> None:
    walks = {f"skill {skill['skill']}": skill for skill in metrics["skills"]}
    if "smodice" in metrics:
        walks["smodice"] = metrics["smodice"]
    walks["expert"] = metrics["expert"]
    rows = []
    for name, walk in walks.items():
        row = {"": name}
        for measure, title in COLUMNS.items():
            row[title] = walk.get(measure, 100.0)  # the expert has no return_pct: it is 100 %
        rows.append(row)
    report.table(rows)
    report.figure(
        figures.skill_bars(metrics, out / "skills"), "Averages of every skill, with 95 % intervals."
    )


def _add_diversity(
    report: Report, metrics: dict[str, Any], points: list[np.ndarray], out: Path
) -> None:
    report.heading("Diversity")
    report.table(
        [{"measure": name, "value": metrics[name]} for name in DIVERSITY if name in metrics]
    )
    report.figure(
        figures.embedding(points, len(metrics["skills"]), out / "umap"),
        "Skills among rollouts of the expert.",
    )


def _add_training(report: Report, source: Source, metrics: dict[str, Any], out: Path) -> None:
    report.heading("Training")
    trained = source.trained
    if trained is None:
        report.text(
            "A bundle holds policies alone. The report of its source, "
            f"{metrics['exported_from']}, shows multipliers, divergences and ratios of training."
        )
        return
    lines = read_metrics(source.path)
    if lines:
        constrained = trained.fixed_sigma is None and trained.alpha is None
        eps = trained.eps if constrained else None
        path = figures.over_training(lines, trained.skills, eps, out / "training")
        shown = "violation of the constraint" if constrained else "divergence from the expert"
        report.figure(path, f"Multipliers, {shown} and distance of the ratios over training.")
    ratios = RunFiles(source.path).ratios
    if ratios.is_file():
        with h5py.File(ratios) as file:
            path = figures.ratios(file[RATIOS_OF_SKILLS][:], out / "ratios")
        report.figure(path, "Weight of every transition of the data in each skill.")
    if "history" in metrics:
        path = figures.history(metrics["history"], out / "history")
        report.figure(path, "Policies cloned at the run's checkpoints.")
    for warning in metrics.get("warnings", []):
        report.text(f"Warning from training: {warning}")


def _add_gaits(report: Report, evaluation: Evaluation, out: Path) -> None:
    from .report.motion_pictures import filmstrip, gait_diagram

    films = {f"skill {skill}": film for skill, film in enumerate(evaluation.films)}
    report.heading("Gaits")
    report.figure(
        gait_diagram(films, out / "gait"),
        "Feet on the ground over time, diagonal pairs in one colour.",
    )
    try:
        filmstrip(films, out / "film.png")
        report.figure(out / "film.png", "One stride of each skill, undisturbed.")
    except MissingPackageError as error:  # a machine that cannot render still gets the numbers
        report.text(f"Film strips are missing. {error}")
        print(f"solo-eval: film strips are left out. {error}", file=sys.stderr)


def _add_transfer(report: Report, metrics: dict[str, Any]) -> None:
    report.heading("Transfer")
    selected = ", ".join(map(str, metrics["selected"])) or "none"
    rule = metrics["selection"]["rule"]
    score = metrics["transfer_score"]
    report.text(f"Selected: {selected}. Rule: {rule}. Transfer score: {score:.2f}.")
    report.table(metrics["transfer"])
