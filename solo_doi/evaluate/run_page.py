"""Report about one run, bundle or checkpoint: all tables and figures of its evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solo_doi.solo12.constants import CONTROL_DT

from .definitions import DEFINITIONS
from .eval_config import COMMANDED, EvalConfig
from .report import figures
from .report.html_report import Report
from .report.motion_section import add_animation, add_gaits
from .report.plain_words import (
    DIVERGENCE_MEANING,
    MAP_MEANING,
    TRAINING_MEANING,
    TRANSFER_MEANINGS,
    WALK_MEANINGS,
    diversity_facts,
)
from .report.result_texts import (
    divergence_rows,
    falls_text,
    pooled_falls_text,
    two_gaits_text,
    unmeasured_divergences,
)
from .report.verdict import verdict
from .rollouts.recording import Recording
from .skill_evaluation import Evaluation
from .source import Source
from .training_section import add_training

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
    add_animation(report, films_of(evaluation), out)
    report.text(
        f"How it was made: {config.episodes} simulated walks (rollouts) of "
        f"{config.steps * CONTROL_DT:g} s per skill in {config.sim}, commanded {COMMANDED:g} m/s, "
        f"randomisation {config.randomisation}: every walk has its own masses, friction, motors "
        "and delays, unless that is none. The expert, which the skills imitate, walks under the "
        "same conditions."
    )
    _add_skills(report, metrics, config.episodes, out)
    if skill_map.points:
        _add_diversity(report, metrics, skill_map, out)
    if "policy_divergence" in metrics:
        _add_divergence(report, metrics)
    _add_training(report, source, metrics, out)
    add_gaits(report, films_of(evaluation), out)
    if "transfer" in metrics:
        _add_transfer(report, metrics)
    report.heading("Exact definitions of the numbers in metrics.json")
    for name, meaning in DEFINITIONS.items():
        report.text(f"{name}: {meaning}.")
    report.write(path)


def _add_skills(report: Report, metrics: dict[str, Any], rollouts: int, out: Path) -> None:
    walks = {f"skill {skill['skill']}": skill for skill in metrics["skills"]}
    if "smodice" in metrics:
        walks["recovered expert"] = metrics["smodice"]
    walks["expert"] = metrics["expert"]
    rows = []
    for name, walk in walks.items():
        row = {"": name}
        for measure, title in COLUMNS.items():
            row[title] = walk.get(measure, 100.0)  # the expert has no return_pct: it is 100 %
        row["falls (95 % interval)"] = falls_text(walk["falls"], rollouts)
        rows.append(row)
    report.table(rows)
    meanings = dict(WALK_MEANINGS)
    if "smodice" not in metrics:
        del meanings["recovered expert"]
    report.explanations(meanings)
    report.text(f"Falls of all skills: {pooled_falls_text(metrics)}. {two_gaits_text(metrics)}")
    report.figure(
        figures.skill_bars(metrics, out / "skills"), "Averages of every skill, with 95 % intervals."
    )


def _add_diversity(report: Report, metrics: dict[str, Any], skill_map: SkillMap, out: Path) -> None:
    report.heading("Diversity")
    report.facts(diversity_facts(metrics))
    points = skill_map.points
    caption = f"{MAP_MEANING} Shown are the skills among walks of the expert"
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
    report.text(f"{DIVERGENCE_MEANING} Randomisation: {randomisation}.")
    report.table(rows)


def _add_training(report: Report, source: Source, metrics: dict[str, Any], out: Path) -> None:
    report.heading("Training")
    trained = source.trained
    if trained is not None:
        report.text(TRAINING_MEANING)
    if trained is None:
        report.text(_without_training(metrics))
        return
    add_training(report, source.path, trained, metrics, out)


def _without_training(metrics: dict[str, Any]) -> str:
    """Return the reason why there are no figures of the training."""
    if "exported_from" not in metrics:
        return "A checkpoint holds policies alone: the skills that data are collected with."
    return (
        "A bundle holds policies alone. The report of its source, "
        f"{metrics['exported_from']}, shows multipliers, divergences and ratios of training."
    )


def films_of(evaluation: Evaluation) -> dict[str, Recording]:
    """Return the recorded walks of all skills and the expert, by their titles."""
    films = {f"skill {skill}": film for skill, film in enumerate(evaluation.films)}
    if evaluation.expert_film is not None:
        films["expert"] = evaluation.expert_film
    return films


def _add_transfer(report: Report, metrics: dict[str, Any]) -> None:
    report.heading("Transfer")
    selected = ", ".join(map(str, metrics["selected"])) or "none"
    rule = metrics["selection"]["rule"]
    score = metrics["transfer_score"]
    report.text(
        f"Selected for the robot: {selected}. Rule: {rule}. Transfer score: {score:.2f}, the mean "
        "over skills of the share of good walks where the skill does worst. Good: near 1."
    )
    rows = []
    for found in metrics["transfer"]:
        low, high = found["success_interval"]
        shown = found | {
            "falls": falls_text(found["falls"], found["rollouts"]),
            "success": f"{found['success']:.2f} ({low:.2f} to {high:.2f})",
        }
        rows.append({title: shown[name] for name, title in TRANSFER_COLUMNS.items()})
    report.table(rows)
    report.explanations(TRANSFER_MEANINGS)
