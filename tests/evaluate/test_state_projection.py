"""States by which policies are compared: inputs as in training, spaced, of upright robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo_doi.algorithm.projection import projected
from solo_doi.algorithm.training_data import Problem, Scale
from solo_doi.evaluate.state_projection import Projection, projections
from solo_doi.runs.run_config import RunConfig

from .recordings import TERMS, as_data, walking


def test_states_are_those_of_the_training() -> None:
    """Two robots give the same rows of the same projection as two trajectories."""
    rng = np.random.default_rng(0)
    recording = replace(
        walking("trot", 100, 2), observation=rng.normal(size=(100, 2, 48)).astype(np.float32)
    )
    names = ("linear_velocity.x", "gravity")
    found = Projection(names, 30).of_recording(recording, TERMS)
    chosen = [29, 59, 89, 129, 159, 189]
    np.testing.assert_array_equal(
        found.values, projected(as_data(recording), names, 30, "")[chosen]
    )
    assert found.trajectory.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.weights.tolist() == [1.0] * 6


def test_deviations_of_swing_terms_are_states_too() -> None:
    """Data and rollouts have the inputs of the training's discriminator, in its scale."""
    rng = np.random.default_rng(0)
    recording = replace(
        walking("trot", 60, 2), observation=rng.normal(size=(60, 2, 48)).astype(np.float32)
    )
    config = RunConfig()
    config = replace(
        config,
        discriminator=replace(config.discriminator, swing_terms=("joint_velocity", "gravity.x")),
    )
    data = replace(as_data(recording), actions=np.zeros((120, 12), dtype=np.float32))
    problem = Problem.build(data, data, config, torch.device("cpu"))
    projection = projections(config)["discriminator"]
    values = projection.of_data(data, "the data")
    assert values.shape == (120, 21 + 13)
    np.testing.assert_array_equal(Scale.of(values)(values), problem.discriminator_input.numpy())
    found = projection.of_recording(recording, TERMS)
    np.testing.assert_allclose(found.values, values[[24, 49, 84, 109]], rtol=1e-5)
    assert projections(config)["classifier"].swing_terms == ()


def test_rollouts_that_fell_have_no_states() -> None:
    """The second of three robots fell."""
    recording = walking("trot", 60, 3)
    recording.observation[:] = np.arange(3)[:, None]
    recording.fallen[50, 1] = True
    found = Projection(("gravity",), 1).of_recording(recording, TERMS)
    assert found.values[:, 0].tolist() == [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]
    recording.fallen[0] = True
    assert len(Projection(("gravity",), 1).of_recording(recording, TERMS)) == 0


@pytest.mark.parametrize(
    ("average", "steps", "expected"),
    [(25, 250, 10), (25, 249, 9), (1, 250, 10), (1, 1, 1), (40, 100, 2), (40, 39, 0)],
)
def test_states_of_a_rollout_have_whole_averages_and_are_apart(
    average: int, steps: int, expected: int
) -> None:
    """They start with the first whole average and are at least 25 steps apart."""
    projection = Projection((), average)
    rows = projection.rows(np.array([0, 7]), 7 + steps)
    rows = rows[rows >= 7] - 7
    assert len(rows) == projection.per_rollout(steps) == expected
    assert (rows >= average - 1).all()
    assert (np.diff(rows) == max(average, 25)).all()


def test_projections_are_those_of_the_run() -> None:
    """Each network has its own terms, or the common ones of the paper, and its own average."""
    config = RunConfig()
    found = projections(config)
    classifier = config.classifier
    discriminator = config.discriminator
    assert found["classifier"] == Projection(classifier.terms, classifier.average)
    assert found["discriminator"] == Projection(
        discriminator.terms, discriminator.average, ("joint_position", "joint_velocity")
    )
    whole = replace(config, discriminator=replace(discriminator, whole=True))
    assert projections(whole).keys() == {"classifier"}
    common = replace(config, projection=("gravity",))
    assert projections(common)["classifier"].terms == ("gravity",)
    assert projections(common)["discriminator"] == Projection(("gravity",), discriminator.average)
