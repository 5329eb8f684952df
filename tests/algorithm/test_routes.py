"""Projections that can and cannot tell routes round a box apart."""

from __future__ import annotations

import numpy as np

from solo_doi.algorithm.projection import whole_averages
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.data.transitions import Transitions
from solo_doi.runs.run_config import task_preset
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.navigation import NavigationTask

from .small import table

STEPS = 100


def routes() -> Transitions:
    """Return a way to the left and back, and its mirror image, with velocities and target."""
    sideways = np.repeat([0.5, -0.5], STEPS // 2)
    rows = []
    for side in (1.0, -1.0):
        velocity = side * sideways
        target_y = -np.cumsum(velocity) * 0.02
        rows.append(np.stack([np.ones(STEPS), velocity, target_y], axis=-1))
    return table(np.concatenate(rows), length=STEPS)


def test_velocities_have_the_same_distribution_on_both_routes() -> None:
    """A classifier of velocities, by row or averaged over the trajectory, sees no difference."""
    data = routes()
    left, right = data.observations[:STEPS, :2], data.observations[STEPS:, :2]
    np.testing.assert_allclose(np.sort(left, axis=0), np.sort(right, axis=0))
    averages = whole_averages(data, ["observation.0", "observation.1"], "the data")
    np.testing.assert_allclose(averages[0], averages[-1], atol=1e-6)


def test_the_mean_of_the_targets_y_tells_the_routes() -> None:
    averages = whole_averages(routes(), ["observation.2"], "the data")[:, 0]
    assert (averages[:STEPS] < -0.1).all()
    assert (averages[STEPS:] > 0.1).all()


def test_navigation_is_trained_with_it_by_default() -> None:
    """The preset of the paper keeps the printed projection, with the task's number of skills."""
    config = task_preset("default", "navigation")
    config.check()
    assert (config.skills, config.fixed_sigma) == (3, 0.5)
    assert (config.discriminator.terms, config.discriminator.whole) == (("target.y",), True)
    printed = task_preset("paper", "navigation")
    assert (printed.skills, printed.discriminator.whole) == (3, False)
    names = {term.name for term in LAYOUTS[NavigationTask.name].terms}
    assert {term.partition(".")[0] for term in config.classifier.terms} <= names
    assert task_preset("default", "locomotion") == TrainConfig()
