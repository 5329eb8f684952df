"""Report about one run, bundle or checkpoint: all tables and figures of its evaluation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.common.metrics_log import read_metrics
from solo_doi.common.untrusted import open_hdf5
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RATIOS_OF_SKILLS
from solo_doi.solo12.constants import CONTROL_DT

from .definitions import DEFINITIONS, DIVERSITY
from .eval_config import COMMANDED, EvalConfig
from .report import figures
from .report.html_report import Report
from .report.result_texts import (
    divergence_rows,
    falls_text,
    pooled_falls_text,
    two_gaits_text,
    unmeasured_divergences,
)
from .report.verdict import verdict
from .skill_evaluation import Evaluation
from .source import Source

COLUMNS = {
    "return_pct": "return [% of expert]",
    "vx": "velocity [m/s]",
    "height_mean": "height [m]",
    "height_std": "± over time [m]",
    "clearance": "clearance [m]",
    "frequency": "stride frequency [Hz]",
    "duty": "duty factor",
    "pitch": "pitch, nose down [degrees]",
    "pair_phase": "phase of pairs [cycles]",
    "drift": "sideways drift [m]",
    "yaw_drift": "turn [degrees]",
    "energy": "energy [J/m]",
}
"""Measures in the table of skills, with their titles."""
COLUMN_MEANINGS = {
    "return": "how well the commanded forward velocity is kept, compared with the expert that the "
    "skills imitate. Good: 90 % or more",
    "velocity": f"mean forward velocity. Good: near {COMMANDED:g} m/s",
    "height": "of the body above the ground, and how much it bobs",
    "clearance": "how high the feet are lifted",
    "stride frequency": "steps of each foot per second",
    "duty factor": "share of time that a foot is on the ground",
    "phase of pairs": "delay between the two diagonal pairs of legs; 0.5 is a trot",
    "sideways drift and turn": "distance from the straight line and change of heading at the end. "
    "Good: near 0",
    "energy": "mechanical work per metre. Less is better",
    "falls": "rollouts with a fall, and the share to expect. Good: 0",
}
"""Meanings of the columns in plain words, and what is good."""
TRANSFER_COLUMNS = {
    "sim": "simulator",
    "randomisation": "randomisation",
    "base": "base velocity and tilt",
    "skill": "skill",
    "rollouts": "rollouts",
    "vx": "velocity [m/s]",
    "falls": "falls (95 % interval)",
    "success": "success (95 % interval)",
    "drift": "sideways drift [m]",
}
"""Columns of the transfer table, with their titles."""


class SkillMap(NamedTuple):
    """UMAP of successor features."""

    points: Mapping[str, np.ndarray]
    """Points of expert, skills, recovered expert and data, by name; empty for one skill."""
    without_data: str = ""
    """Why there are no points of the data."""


def write_page(
    source: Source,
    evaluation: Evaluation,
    skill_map: SkillMap,
    config: EvalConfig,
    metrics: dict[str, Any],
    path: Path,
) -> None:
    """Write the report, and its figures beside it.

    Args:
        source: The evaluated run, bundle or checkpoint.
        evaluation: Its rollouts.
        skill_map: UMAP of skills and data.
        config: Settings of the evaluation.
        metrics: Content of metrics.json.
        path: File of the report.
    """
    out = path.parent
    out.mkdir(parents=True, exist_ok=True)
    report = Report(f"Skills of {metrics['run']}")
    report.verdict(verdict(metrics, COMMANDED))
    report.text(
        f"How it was made: {config.episodes} rollouts of {config.steps * CONTROL_DT:g} s per skill "
        f"in {config.sim}, "
        f"randomisation {config.randomisation}, commanded {COMMANDED:g} m/s, no exploration noise. "
        "The expert runs in the same domains."
    )
    _add_skills(report, metrics, config.episodes, out)
    if skill_map.points:
        _add_diversity(report, metrics, skill_map, out)
    if "policy_divergence" in metrics:
        _add_divergence(report, metrics)
    _add_training(report, source, metrics, out)
    _add_gaits(report, evaluation, out)
    if "transfer" in metrics:
        _add_transfer(report, metrics)
    report.heading("Definitions")
    for name, meaning in DEFINITIONS.items():
        report.text(f"{name}: {meaning}.")
    report.write(path)


def _add_skills(report: Report, metrics: dict[str, Any], rollouts: int, out: Path) -> None:
    walks = {f"skill {skill['skill']}": skill for skill in metrics["skills"]}
    if "smodice" in metrics:
        walks["smodice"] = metrics["smodice"]
    walks["expert"] = metrics["expert"]
    rows = []
    for name, walk in walks.items():
        row = {"": name}
        for measure, title in COLUMNS.items():
            row[title] = walk.get(measure, 100.0)  # the expert has no return_pct: it is 100 %
        row["falls (95 % interval)"] = falls_text(walk["falls"], rollouts)
        rows.append(row)
    report.table(rows)
    report.explanations(COLUMN_MEANINGS)
    report.text(f"Falls of all skills: {pooled_falls_text(metrics)}. {two_gaits_text(metrics)}")
    report.figure(
        figures.skill_bars(metrics, out / "skills"), "Averages of every skill, with 95 % intervals."
    )


def _add_diversity(report: Report, metrics: dict[str, Any], skill_map: SkillMap, out: Path) -> None:
    report.heading("Diversity")
    rows = []
    for name, title in DIVERSITY.items():
        if name in metrics:
            rows.append({"measure": title, "value": metrics[name]})
    report.table(rows)
    points = skill_map.points
    caption = "Skills among rollouts of the expert"
    if "data" in points:
        caption += f" and {len(points['data'])} trajectories of the data, with their sensor errors."
    else:
        reason = skill_map.without_data.rstrip(".")
        caption += f". Trajectories of the data are left out: {reason}."
    report.figure(figures.embedding(points, out / "umap"), caption)


def _add_divergence(report: Report, metrics: dict[str, Any]) -> None:
    report.heading("Divergence of the policies from the expert")
    for sentence in unmeasured_divergences(metrics):
        report.text(sentence)
    rows = divergence_rows(metrics)
    if not rows:
        return
    randomisation = metrics["policy_divergence"]["randomisation"]
    report.text(
        "KL divergence of the states that each policy visits from those of the recovered expert "
        f"[nats] with standard errors, randomisation {randomisation}, beside that of its ratios."
    )
    report.table(rows)


def _add_training(report: Report, source: Source, metrics: dict[str, Any], out: Path) -> None:
    report.heading("Training")
    trained = source.trained
    if trained is None:
        report.text(_without_training(metrics))
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
        with open_hdf5(ratios) as file:
            path = figures.ratios(file[RATIOS_OF_SKILLS][:], out / "ratios")
        report.figure(path, "Weight of every transition of the data in each skill.")
    if "history" in metrics:
        path = figures.history(metrics["history"], out / "history")
        report.figure(path, "Policies cloned at the run's checkpoints.")
    for warning in metrics.get("warnings", []):
        report.text(f"Warning from training: {warning}")


def _without_training(metrics: dict[str, Any]) -> str:
    """Return the reason why there are no figures of the training."""
    if "exported_from" not in metrics:
        return "A checkpoint holds policies alone: the skills that data are collected with."
    return (
        "A bundle holds policies alone. The report of its source, "
        f"{metrics['exported_from']}, shows multipliers, divergences and ratios of training."
    )


def _add_gaits(report: Report, evaluation: Evaluation, out: Path) -> None:
    from .report.motion_pictures import filmstrip, gait_diagram

    films = {f"skill {skill}": film for skill, film in enumerate(evaluation.films)}
    if evaluation.expert_film is not None:
        films["expert"] = evaluation.expert_film
    report.heading("Gaits")
    report.figure(
        gait_diagram(films, out / "gait"),
        "Feet on the ground over time, diagonal pairs in one colour.",
    )
    try:
        filmstrip(films, out / "film.png")
        report.figure(out / "film.png", "One stride of each skill and of the expert, undisturbed.")
    except MissingPackageError as error:  # a machine that cannot render still gets the numbers
        report.text(f"Film strips are missing. {error}")
        print(f"solo-eval: film strips are left out. {error}", file=sys.stderr)


def _add_transfer(report: Report, metrics: dict[str, Any]) -> None:
    report.heading("Transfer")
    selected = ", ".join(map(str, metrics["selected"])) or "none"
    rule = metrics["selection"]["rule"]
    score = metrics["transfer_score"]
    report.text(f"Selected: {selected}. Rule: {rule}. Transfer score: {score:.2f}.")
    rows = []
    for found in metrics["transfer"]:
        low, high = found["success_interval"]
        shown = found | {
            "falls": falls_text(found["falls"], found["rollouts"]),
            "success": f"{found['success']:.2f} ({low:.2f} to {high:.2f})",
        }
        rows.append({title: shown[name] for name, title in TRANSFER_COLUMNS.items()})
    report.table(rows)
