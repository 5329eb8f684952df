"""Evaluation of a run, bundle or checkpoint of a task that declares measures of episodes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.provenance import software
from solo_doi.common.steps import step
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.runs.run import Run, load_run
from solo_doi.runs.run_files import EVALUATION_METRICS_FILE, EVALUATION_REPORT_FILE, RunFiles
from solo_doi.solo12.observation import layout_of_size
from solo_doi.tasks import is_task, task_type
from solo_doi.tasks.task import Task

from .episodes.episode_diversity import DIVERSITY_MEANINGS, describe_diversity
from .episodes.episode_rollouts import (
    EpisodeSettings,
    SceneResult,
    describe_scene,
    roll_out_scene,
)
from .episodes.episodes_page import episodes_page
from .eval_config import EvalConfig, is_bundle, is_checkpoint, is_run
from .skill_evaluation import Policy
from .source import describe_run
from .training_section import add_training

Results = dict[str, dict[str, SceneResult]]
"""Results by scene, then by policy."""
SMODICE_NAME = "SMODICE"


def task_of(source: Path) -> str:
    """Return the task of a run, bundle or checkpoint; empty if no task fits."""
    if is_bundle(source):
        return Bundle(source).contract.task if source.is_file() else ""
    if is_checkpoint(source):
        layout = layout_of_size(read_policy(source).observation_size)
        return layout.task if layout else ""
    try:
        return str(settings.load(RunFiles(source).config).get("task", ""))
    except settings.ConfigError:
        return ""  # not a run: the reader of runs raises the error


def reports_episodes(source: Path) -> bool:
    """Return True if the task of a source declares measures of episodes."""
    task = task_of(source)
    return is_task(task) and task_type(task).evaluation.report == "episodes"


@dataclass(frozen=True)
class EpisodesPlan:
    """A checked evaluation that has not been executed yet."""

    source: Path
    out: Path
    config: EvalConfig
    task: type[Task]
    policies: dict[str, tuple[Policy, int]]
    """Policies with their skill, by name."""
    run: Run | None = None
    """Record of the training; None for a bundle or a checkpoint."""

    @property
    def result_file(self) -> Path:
        """File to read first: the report, or metrics.json if no pictures are drawn."""
        return self.out / (
            EVALUATION_REPORT_FILE if self.config.pictures else EVALUATION_METRICS_FILE
        )

    def execute(self, *, again: bool = False) -> dict[str, Any]:
        """Evaluate; return the content of metrics.json."""
        results: Results = {}
        chosen = episode_settings(self.task, self.config)
        for title, scene in self.task.evaluation.scenes.items():
            results[title] = {}
            for name, (policy, skill) in self.policies.items():
                step(f"episodes of {name}: {title}")
                act = partial(_act, policy, skill)
                results[title][name] = roll_out_scene(self.task, act, scene, chosen)
        metrics = self._metrics(results)
        self.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(metrics, indent=1, allow_nan=False) + "\n"
        write_text(self.out / EVALUATION_METRICS_FILE, text)
        if self.config.pictures:
            page = episodes_page(self.task, results, metrics, self.out)
            if self.run is not None:
                page.heading("Training")
                add_training(page, self.source, self.run.config, metrics, self.out)
            page.write(self.out / EVALUATION_REPORT_FILE)
        return metrics

    def _metrics(self, results: Results) -> dict[str, Any]:
        measures = self.task.evaluation.measures
        scenes: dict[str, dict[str, Any]] = {}
        for title, found in results.items():
            scenes[title] = {
                name: describe_scene(result.episodes, measures) for name, result in found.items()
            }
        definitions = {measure.name: measure.meaning for measure in measures}
        diversity = self._diversity(results)
        if diversity:
            definitions |= DIVERSITY_MEANINGS
        chosen = replace(self.config, **vars(episode_settings(self.task, self.config)))
        return {
            **(describe_run(self.run) if self.run else {"run": self.source.resolve().name}),
            "task": self.task.name,
            "evaluation": settings.to_dict(chosen),
            "scenes": scenes,
            **diversity,
            "definitions": definitions,
            "software": software(),
        }

    def _diversity(self, results: Results) -> dict[str, float]:
        """Return distances between the skills of a run, if the task declares them."""
        if self.run is None or not self.task.evaluation.diversity:
            return {}
        found, *_ = results.values()
        skills = {}
        for name, result in found.items():
            if name != SMODICE_NAME:
                skills[name] = result.recording
        return describe_diversity(skills, self.run.policy.state_std)


def episode_settings(task: type[Task], config: EvalConfig) -> EpisodeSettings:
    """Return the settings of rollouts, with the task's own numbers unless others were set."""
    declared = task.evaluation
    steps = declared.steps if config.steps == EvalConfig.steps else config.steps
    episodes = config.episodes
    if episodes == EvalConfig.episodes:
        episodes = declared.episodes
    return EpisodeSettings(
        sim=config.sim,
        randomisation=config.randomisation if task.randomised else "none",
        episodes=episodes,
        steps=steps,
        seed=config.seed,
    )


def _act(policy: Policy, skill: int, seen: np.ndarray) -> np.ndarray:
    """Return actions without exploration noise."""
    return policy.mean_action(seen.astype(np.float32), skill)


def plan_episodes(source: Path, out: Path, config: EvalConfig, *, select: bool) -> EpisodesPlan:
    """Read the policies of a source; refuse settings that apply to walks only."""
    task = task_type(task_of(source))
    for asked, flag in ((select, "--select"), (config.transfer, "--transfer")):
        if asked:
            raise SoloError(
                f"{source}: {flag} compares walks; task {task.name!r} has scenes instead. "
                "Evaluate it without."
            )
    if config.history:
        raise SoloError(f"{source}: --history shows returns of walks. Evaluate it without.")
    if task.only_simulator not in ("", config.sim):
        raise SoloError(
            f"{source}: task {task.name!r} in {config.sim!r}: expected --sim {task.only_simulator}."
        )
    run = load_run(source) if is_run(source) else None
    if run is not None:
        _check_run(run, task)
    return EpisodesPlan(source, out, config, task, _policies(source), run)


def _check_run(run: Run, task: type[Task]) -> None:
    """Refuse a run that has not finished, or was trained on other observations."""
    _ = run.summary
    found = run.policy.observation_size
    if found != task.layout.size:
        raise SoloError(
            f"{run.path}: its policy takes {found} numbers, task {task.name!r} has "
            f"{task.layout.size}: the data are of another version of the task."
        )


def _policies(source: Path) -> dict[str, tuple[Policy, int]]:
    """Return all skills, and the expert as SMODICE recovers it if a run has it, by name."""
    recovered: Policy | None = None
    policy: Policy
    if is_bundle(source):
        policy = Bundle(source)
    elif is_checkpoint(source):
        policy = read_policy(source)
    else:
        run = load_run(source)
        policy = run.policy
        recovered = run.expert
    found: dict[str, tuple[Policy, int]] = {}
    for skill in range(policy.num_skills):
        found[f"skill {skill}"] = (policy, skill)
    if recovered is not None:
        found[SMODICE_NAME] = (recovered, 0)
    return found
