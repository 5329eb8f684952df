"""Report of a task's scenes: table of measures, and the figures that the task declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from solo_doi.common.errors import MissingPackageError, UnknownNameError
from solo_doi.evaluate.report.html_report import Report
from solo_doi.evaluate.report.plain_words import diversity_facts
from solo_doi.tasks.task import Task

from .episode_figures import film, paths, returns
from .episode_rollouts import SceneResult

FIGURES: dict[str, tuple[Callable[..., Path], str]] = {
    "paths": (paths, "Paths of the base from above, with the heading at every 10th step."),
    "returns": (returns, "Distribution of returns."),
}
"""Figures by the names that tasks use, with captions."""
DIVERSITY_ROWS = ("ratio_l1", "ratio_l1_trajectory", "sf_l2", "told_apart")
"""Measures of differences between skills, in the order of their table."""


def episodes_page(
    task: type[Task],
    results: Mapping[str, Mapping[str, SceneResult]],
    metrics: dict[str, Any],
    out: Path,
) -> Report:
    """Return the report; write its figures to the folder `out`."""
    report = Report(f"Skills of {metrics['run']}")
    settings = metrics["evaluation"]
    report.text(
        f"Task {task.name}: {settings['episodes']} random starts per skill and scene in "
        f"{settings['sim']}, randomisation {settings['randomisation']}, no exploration noise. "
        "Shares and means with 95 % intervals."
    )
    for scene, found in metrics["scenes"].items():
        if scene:
            report.heading(scene)
        report.table([_row(task, name, values) for name, values in found.items()])
    shown = diversity_facts({name: metrics[name] for name in DIVERSITY_ROWS if name in metrics})
    if shown:
        report.heading("Differences between skills")
        report.facts(shown)
    for name in task.evaluation.figures:
        if name not in FIGURES:
            raise UnknownNameError("figure", name, FIGURES)
        draw, caption = FIGURES[name]
        report.figure(draw(results, out / name, task.evaluation), caption)
    if task.evaluation.film:
        _add_film(report, task, results, out)
    report.heading("Definitions")
    for name, meaning in metrics["definitions"].items():
        report.text(f"{name}: {meaning}.")
    return report


def _add_film(
    report: Report,
    task: type[Task],
    results: Mapping[str, Mapping[str, SceneResult]],
    out: Path,
) -> None:
    scene = task.evaluation.film_scene or list(results)[-1]
    caption = "One episode of every policy."
    if scene:
        caption = f"One episode of every policy, scene {scene}."
    try:
        report.figure(film(results[scene], out / "film"), caption)
    except MissingPackageError as error:
        report.text(f"The film is missing. {error}")


def _row(task: type[Task], name: str, values: dict[str, Any]) -> dict[str, object]:
    row: dict[str, object] = {"": name}
    for measure in task.evaluation.measures:
        low, high = values["intervals"][measure.name]
        row[measure.title] = f"{values[measure.name]:.2f} ({low:.2f} to {high:.2f})"
        if measure.median:
            row[f"{measure.title}, median"] = f"{values[f'{measure.name}_median']:.2f}"
    return row
