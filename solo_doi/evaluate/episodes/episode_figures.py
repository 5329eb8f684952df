"""Figures of episodes: paths from above, distributions of returns, film."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # draws without a screen
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from solo_doi.evaluate.report.figures import WIDTH, colour, save
from solo_doi.evaluate.report.render import render
from solo_doi.solo12.rotations import to_rpy
from solo_doi.tasks.declarations import Episodes, EvaluationDefaults

from .episode_rollouts import SceneResult

Found = Mapping[str, Mapping[str, SceneResult]]
ARROW_STEPS = 10
"""Control steps between two arrows of a path, as in the paper."""
SHOWN_PATHS = 60
"""Largest number of paths in a panel."""
PICTURES = 8
"""Pictures of a film strip."""
VISIBLE = 10.0
"""Distance within which boxes are drawn [m]."""


def paths(results: Found, path: Path, declared: EvaluationDefaults) -> Path:
    """Draw the base's path of every episode, scenes as columns and policies as rows."""
    scenes = list(results)
    names = list(results[scenes[0]])
    size = (1.6 * len(scenes) + 0.6, 1.5 * len(names) + 0.4)
    figure, axes = plt.subplots(
        len(names), len(scenes), figsize=size, squeeze=False, sharex=True, sharey=True,
        layout="constrained",
    )  # fmt: skip
    rows: list[list[object]] = []
    for column, scene in enumerate(scenes):
        axes[0, column].set_title(scene, fontsize=8)
        for row, name in enumerate(names):
            episodes = results[scene][name].episodes
            _draw_paths(axes[row, column], episodes, row, declared.target_radius)
            axes[row, 0].set_ylabel(name, fontsize=8)
            for robot, (x, y) in enumerate(episodes.position_w[-1, :, :2]):
                rows.append([scene, name, robot, f"{x:.4f}", f"{y:.4f}"])
    return save(figure, path, ["scene", "policy", "episode", "final_x_m", "final_y_m"], rows)


def _draw_paths(axis: Axes, episodes: Episodes, number: int, radius: float) -> None:
    _, _, yaw = to_rpy(episodes.quaternion)
    for robot in range(min(SHOWN_PATHS, episodes.position_w.shape[1])):
        x, y = episodes.position_w[::ARROW_STEPS, robot, :2].T
        heading = yaw[::ARROW_STEPS, robot]
        # As pixels: thousands of arrows would make a vector graphic of 26 MB.
        axis.plot(x, y, color=colour(number), lw=0.4, alpha=0.6, rasterized=True)
        axis.quiver(
            x, y, np.cos(heading), np.sin(heading),
            color=colour(number), width=0.003, scale=40, rasterized=True,
        )  # fmt: skip
    for (x, y), (side_x, side_y, _) in zip(
        episodes.terrain.centre[0], episodes.terrain.size[0], strict=True
    ):
        if abs(x) < VISIBLE:
            corner = (x - side_x / 2, y - side_y / 2)
            axis.add_patch(Rectangle(corner, side_x, side_y, color="tan", alpha=0.6))
    if radius:
        target = (float(episodes.command[0, 0]), float(episodes.command[0, 1]))
        axis.add_patch(Circle(target, radius, color="green", alpha=0.3))
    axis.set_aspect("equal")
    axis.tick_params(labelsize=6)


def returns(results: Found, path: Path, declared: EvaluationDefaults) -> Path:
    """Draw the distribution of returns of every policy in every scene."""
    figure, axes = plt.subplots(
        len(results), 1, figsize=(WIDTH, 1.2 * len(results) + 0.4), squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    rows: list[list[object]] = []
    for axis, (scene, found) in zip(axes[:, 0], results.items(), strict=True):
        values = {name: result.episodes.score.sum(0) for name, result in found.items()}
        axis.boxplot(list(values.values()), orientation="horizontal", tick_labels=list(values))
        axis.set_title(scene, fontsize=8, loc="left")
        axis.tick_params(labelsize=7)
        for name, sums in values.items():
            rows += [[scene, name, f"{value:.4f}"] for value in sums]
    axes[-1, 0].set_xlabel("return")
    return save(figure, path, ["scene", "policy", "return"], rows)


def film(found: Mapping[str, SceneResult], path: Path) -> Path:
    """Draw one episode of every policy in a scene, as rows of pictures."""
    names = list(found)
    rows = []
    for result in found.values():
        steps = np.linspace(0, len(result.recording.position_w) - 1, PICTURES).astype(int)
        rows.append(np.concatenate(render(result.recording, 0, steps, (120, 160)), axis=1))
    height, width = rows[0].shape[:2]
    figure, axes = plt.subplots(
        len(rows), 1, figsize=(10, 10 * height / width * len(rows)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis, row, name in zip(axes[:, 0], rows, names, strict=True):
        axis.imshow(row)
        axis.set_axis_off()
        axis.set_title(name, fontsize=8, loc="left")
    return save(figure, path, ["policy"], [[name] for name in names])
