"""Features of trajectories, and clusters of them as weights of skills."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
import torch

from solo_doi.algorithm.clusters import (
    Clusters,
    describe_behaviour,
    find_clusters,
    partition,
)
from solo_doi.algorithm.training_data import Problem
from tests.algorithm.small import build, even, small_config, table

close = torch.testing.assert_close


def walks(heights: list[float], steps: int = 10) -> Problem:
    """Return trajectories that each swing by 0.1 about a given height."""
    swing = 0.1 * (-1.0) ** np.arange(steps)
    observations = np.concatenate([height + swing for height in heights])[:, None]
    return build(table(observations, length=steps))


def test_behaviour_by_hand() -> None:
    """Two trajectories are at 1 and 3 with a swing of 0.1; the second has three times the weight.

    Mean 2.5; variance between them 0.25 x 2.25 + 0.75 x 0.25 = 0.75, within them 0.01.
    """
    problem = walks([1.0, 3.0])
    log_w = torch.tensor([0.025, 0.075], dtype=torch.float64).repeat_interleave(10).log()
    found = describe_behaviour(problem, log_w)
    scale = np.sqrt(1.01)  # inputs are divided by their deviation over all rows
    close(found.weight, torch.tensor([0.25, 0.75], dtype=torch.float64))
    close(found.mean[:, 0] * scale, torch.tensor([-1.0, 1.0], dtype=torch.float64))
    close(found.deviation * scale, torch.tensor([0.76**0.5], dtype=torch.float64))
    close(found.wobble * scale, torch.tensor([0.1], dtype=torch.float64))


def test_clusters_share_the_experts_weight() -> None:
    """Three, three and two walks at three heights have shares 3/8, 3/8, 1/4.

    Their costs are -log of them.
    """
    problem = walks([1.0, 1.01, 1.02, 2.0, 2.01, 2.02, 3.0, 3.01])
    config = small_config(skills=3, eps=1.0)
    found = find_clusters(describe_behaviour(problem, even(problem)), config)
    label = found.label
    for first, last in ((0, 3), (3, 6), (6, 8)):
        assert (label[first:last] == label[first]).all()
    assert sorted(label[[0, 3, 6]].tolist()) == [0, 1, 2]
    close(found.share[label[6]], torch.tensor(0.25, dtype=torch.float64))
    close(found.cost[label[6]], torch.tensor(log(4), dtype=torch.float64))


def test_eps_bounds_the_share() -> None:
    """One of five walks is far away with a share of 0.04.

    It is a cluster for eps 4, not for eps 2.
    """
    problem = walks([1.0, 1.5, 2.0, 2.5, 9.0])
    log_w = torch.tensor([0.24] * 4 + [0.04]).double().repeat_interleave(10).log() - log(10)
    behaviour = describe_behaviour(problem, log_w)
    config = small_config(skills=2)
    rare = find_clusters(behaviour, replace(config, eps=4.0))
    assert rare.share.min() == pytest.approx(0.04)
    common = find_clusters(behaviour, replace(config, eps=2.0))
    assert common.share.min() > exp(-2)


def test_weights_of_clusters_are_the_experts_inside() -> None:
    """Each skill has its own trajectory.

    A skill without a cluster has all of the expert's weight.
    """
    problem = walks([1.0, 2.0])
    clusters = Clusters(torch.tensor([1, -1]), torch.tensor([0.0, 0.5]).double())
    w = clusters.log_weights(problem, even(problem)).exp()
    close(w[0], torch.full((20,), 0.05).double())
    close(w[1], torch.tensor([0.1] * 10 + [0.0] * 10).double())


def test_a_partition_contains_every_trajectory() -> None:
    """The baseline assigns every trajectory to a skill, with the same clusters every time."""
    problem = walks([1.0, 1.4, 2.0, 2.4, 9.0, 9.4])
    config = small_config(skills=3)
    behaviour = describe_behaviour(problem, even(problem))
    found = partition(behaviour, config)
    close(found.share.sum(), torch.tensor(1.0).double())
    assert torch.equal(found.label, partition(behaviour, config).label)
