"""Evaluates skills: their policies, the log and ratios of their run; writes metrics, figures and the report."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import h5py

from solo_doi import config as configuration
from solo_doi.algorithm.training import RATIOS_FILE
from solo_doi.data.shard import file_hash
from solo_doi.errors import MissingPackageError
from solo_doi.files import write_text
from solo_doi.metrics_log import read_metrics
from solo_doi.policies.dominic import read_policy
from solo_doi.provenance import software

from . import diversity, figures
from .config import COMMANDED, EvalConfig
from .history import returns_over_training
from .report import Report
from .skills import (
    CONDITIONS,
    ROBUST_SHARE,
    SUCCESS_SPEED,
    Evaluation,
    Policy,
    describe_skills,
    evaluate,
    feature_scale,
    roll_out,
    select,
    transfer,
    transfer_score,
)
from .source import Source, policy_file, read_source
from .walk import GAMMA, measure

METRICS_JSON, REPORT_FILE = "metrics.json", "report.html"
EXPERT_ROBOTS = 200
"""Rollouts of the expert that the map of successor features is fitted on."""
DIVERSITY = (
    "ratio_l1", "ratio_l1_trajectory", "sf_l2", "sf_l2_standardised", "height_std", "told_apart",
    "mutual_information", "silhouette", "visibly_different",
)  # fmt: skip
DEFINITIONS = {
    "return": "mean over the episode of exp(-((vx - 1) / 0.3)^2), vx true, in m/s; return_pct: of the expert's",
    "sf_l2": f"mean over pairs of skills of the l2 distance of mean successor features, gamma {GAMMA}, 33 features: "
    "velocities, gravity, joint positions and velocities in SI units; standardised: divided by the expert's deviation",
    "told_apart": "accuracy of a logistic regression on successor features of rollouts in domains it never saw",
    "mutual_information": "log |Z| minus that regression's cross entropy there, nats",
    "height_std": "standard deviation over skills of the mean base height, m; within a skill: over time",
    "power": "mean of |torque x velocity| over all joints, W; energy: power divided by vx, J/m",
    "success": f"share of rollouts without a fall at {SUCCESS_SPEED:.0%} of 1 m/s or more",
    "transfer_score": "mean over skills of the success in the condition that is worst for the skill",
    "base": "known: velocity and tilt as simulated, with the errors of training; estimated: by the deployed estimator, "
    "from simulated IMU and joints at 1 kHz, robots standing at first",
}


def evaluate_run(run: Path, expert_file: Path, config: EvalConfig, out: Path) -> dict[str, Any]:
    """Evaluate and write; return what `metrics.json` holds."""
    config.check()
    source, expert = read_source(run, config), read_policy(expert_file)
    evaluation = evaluate(source.policy, expert, config)
    metrics: dict[str, Any] = {
        **source.told,
        "evaluation": configuration.to_dict(config),
        "made_from": made_from(run, expert_file),
        **describe_skills(evaluation),
        "definitions": DEFINITIONS,
        "software": software(),
    }
    if config.transfer:
        metrics["transfer"] = transfer(source.policy, config)
        metrics["transfer_score"] = transfer_score(metrics["transfer"])
        metrics["selected"] = select(metrics["transfer"])
    if config.history and source.trained is not None:
        metrics["history"] = returns_over_training(run, source.trained, expert, config)
    if config.pictures:
        _report(source, evaluation, expert, config, metrics, out)
    metrics = _plain(metrics)
    write_text(out / METRICS_JSON, json.dumps(metrics, indent=1, allow_nan=False) + "\n")
    return metrics


def evaluated_before(run: Path, expert_file: Path, config: EvalConfig, out: Path) -> dict[str, Any] | None:
    """Return what `metrics.json` holds if it tells of these policies and settings, and all files are there."""
    try:
        metrics = json.loads((out / METRICS_JSON).read_text())
    except (OSError, ValueError):  # none, or damaged: made anew
        return None
    expected = {"evaluation": configuration.to_dict(config), "made_from": made_from(run, expert_file)}
    same = isinstance(metrics, dict) and all(metrics.get(name) == value for name, value in expected.items())
    return metrics if same and (not config.pictures or (out / REPORT_FILE).is_file()) else None


def made_from(run: Path, expert_file: Path) -> dict[str, str]:
    """Hashes of the policies an evaluation tells of."""
    return {"policy": file_hash(policy_file(run)), "expert": file_hash(expert_file)}


def _plain(value: Any) -> Any:  # noqa: ANN401  # any value
    """What JSON can hold: nothing instead of NaN and infinity, which other programs refuse to read."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _report(
    source: Source, evaluation: Evaluation, expert: Policy, config: EvalConfig, metrics: dict[str, Any], out: Path
) -> None:
    """Draw all figures and put them into one page."""
    out.mkdir(parents=True, exist_ok=True)
    report = Report(f"Skills of {metrics['run']}")
    report.text(
        f"{config.episodes} rollouts of {config.steps} control steps per skill in {config.sim}, randomisation "
        f"{config.randomisation}, commanded {COMMANDED:g} m/s, no exploration noise; the expert in the same domains."
    )
    shown = ("return_pct", "vx", "falls", "height_mean", "height_std", "clearance", "frequency", "pair_phase", "energy")
    rows = [{"": f"skill {skill['skill']}"} | {name: skill[name] for name in shown} for skill in metrics["skills"]]
    report.table([*rows, {"": "expert"} | {name: metrics["expert"].get(name, 100.0) for name in shown}])
    report.figure(figures.skill_bars(metrics, out / "skills"), "Return, velocity, height and clearance of every skill.")
    if len(evaluation.walks) > 1:
        _diversity(report, evaluation, expert, config, metrics, out)
    _training(report, source, metrics, out)
    _pictures(report, evaluation, out)
    if "transfer" in metrics:
        report.heading("Transfer")
        chosen = ", ".join(map(str, metrics["selected"])) or "none"
        report.text(
            f"Selected: {chosen}. Rule: at least {ROBUST_SHARE:.0%} of the rollouts succeed in each of the "
            f"{len(CONDITIONS)} conditions below. Transfer score: {metrics['transfer_score']:.2f}."
        )
        report.table(metrics["transfer"])
    report.heading("What the numbers mean")
    for name, meaning in DEFINITIONS.items():
        report.text(f"{name}: {meaning}.")
    report.write(out / REPORT_FILE)


def _diversity(
    report: Report, evaluation: Evaluation, expert: Policy, config: EvalConfig, metrics: dict[str, Any], out: Path
) -> None:
    many = measure(roll_out(expert, 0, config, robots=EXPERT_ROBOTS), COMMANDED)
    points = diversity.embed(many, evaluation.walks, feature_scale(many), config.seed)
    metrics["silhouette"] = diversity.silhouette(points[1:])
    report.heading("Diversity")
    report.table([{"measure": name, "value": metrics[name]} for name in DIVERSITY if name in metrics])
    report.figure(figures.embedding(points, out / "umap"), "Rollouts of skills among those of the expert.")


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
        path = figures.over_training(lines, trained.skills, trained.eps, out / "training")
        report.figure(path, "Multipliers, violation of the constraint and distance of the ratios over training.")
    if (run / RATIOS_FILE).is_file():  # the shipped run comes without: they are as large as data
        with h5py.File(run / RATIOS_FILE) as file:
            path = figures.ratios(file["log_w_skills"][:], out / "ratios")
        report.figure(path, "Which transitions of the data each skill is made of.")
    if "history" in metrics:
        path = figures.history(metrics["history"], out / "history")
        report.figure(path, "Policies cloned at the run's checkpoints.")
    for warning in metrics.get("warnings", []):
        report.text(f"Warning from training: {warning}")


def _pictures(report: Report, evaluation: Evaluation, out: Path) -> None:
    from .pictures import filmstrip, gait_diagram

    named = {f"skill {skill}": film for skill, film in enumerate(evaluation.films)}
    gait_diagram(named, out / "gait.png")
    report.heading("Gaits")
    report.figure(out / "gait.png", "Feet on the ground over time, diagonal pairs in one colour.")
    try:
        filmstrip(named, out / "film.png")
        report.figure(out / "film.png", "One stride of each skill, undisturbed.")
    except MissingPackageError as error:  # numbers are worth having on a machine that cannot render
        report.text(f"Film strips are missing. {error}")
        print(f"solo-eval: film strips are left out. {error}", file=sys.stderr)
