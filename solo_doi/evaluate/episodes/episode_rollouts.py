"""Rollouts of policies in the scenes of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solo_doi.evaluate.metrics.intervals import interval, wilson
from solo_doi.evaluate.rollouts.recording import Act, Recording, record
from solo_doi.sim import SimConfig
from solo_doi.tasks.declarations import Episodes, Measure, SceneNumbers
from solo_doi.tasks.task import Task


@dataclass(frozen=True)
class SceneResult:
    """Episodes of one policy in one scene."""

    episodes: Episodes
    recording: Recording


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings:
    """Settings of all rollouts of an evaluation."""

    sim: str
    randomisation: str
    episodes: int
    steps: int
    seed: int


def roll_out_scene(
    task: type[Task], act: Act, scene: SceneNumbers, settings: EpisodeSettings
) -> SceneResult:
    """Roll out a policy from random starts in one scene."""
    setup = SimConfig(num_robots=settings.episodes)
    options = task.fixed_config(settings.randomisation, settings.steps, scene)
    with task.make_simulator(settings.sim, setup) as simulator:
        running = task(simulator, options, np.random.default_rng(settings.seed))
        command = running.command.copy()
        # Read before the rollout: after the last step, the task draws the ground of new episodes.
        terrain = simulator.terrain
        recording = record(running, act, settings.steps)
    assert recording.score is not None
    episodes = Episodes(
        position_w=recording.position_w,
        quaternion=recording.quaternion,
        score=recording.score,
        fallen=recording.fallen,
        command=command,
        terrain=terrain,
    )
    return SceneResult(episodes, recording)


def describe_scene(episodes: Episodes, measures: tuple[Measure, ...]) -> dict[str, Any]:
    """Return averages of all measures with 95 % intervals, under their names."""
    found: dict[str, Any] = {}
    intervals = {}
    for measure in measures:
        values = measure.compute(episodes)
        found[measure.name] = float(values.mean())
        if measure.median:
            found[f"{measure.name}_median"] = float(np.median(values))
        if values.dtype == bool:
            intervals[measure.name] = wilson(int(values.sum()), len(values))
        else:
            intervals[measure.name] = interval(values)
    return {**found, "intervals": intervals}
