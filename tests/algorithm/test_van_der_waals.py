"""Van der Waals force between mean features: directions, strength and start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo_doi.algorithm.clusters import describe_behaviour, find_clusters
from solo_doi.algorithm.part_configs import DiscriminatorConfig
from solo_doi.algorithm.van_der_waals import VanDerWaals
from tests.algorithm.small import PLAIN_DISCRIMINATOR, build, even, seeded, small_config, table

close = torch.testing.assert_close


def force() -> VanDerWaals:
    """Return the force between two skills on four rows with features 0, 1, 2, 3.

    The features are scaled by their mean 1.5 and deviation sqrt(1.25).
    """
    config = small_config(skills=2, diversity="van_der_waals", reach=2.0)
    problem = build(table(np.arange(4.0)[:, None]), config)
    return VanDerWaals(problem, even(problem), config, seeded())


def test_force_learns_mean_features() -> None:
    """One skill has the first two rows, the other the last two.

    The scaled means are (0.5 - 1.5) / sqrt(1.25) and the opposite number.
    """
    found = force()
    log_w = (
        torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], dtype=torch.float64)
        .clamp(min=1e-300)
        .log()
    )
    metrics = found.fit(torch.arange(4), log_w)
    close(found.expected, torch.tensor([[-1.0], [1.0]]) / 1.25**0.5)
    assert metrics == {"skills/distance": pytest.approx(2 / 1.25**0.5)}


def test_force_points_away_from_the_other_skill() -> None:
    """Means are -1/2 and 1/2, the reach is 2.

    The strength is 1 - 1/8, the directions are -1 and 1. The product with feature x is divided by
    two skills.
    """
    found = force()
    found.expected = torch.tensor([[-0.5], [0.5]])
    x = (torch.arange(4.0) - 1.5) / 1.25**0.5
    close(found.term(torch.arange(4), 3), torch.stack([-0.4375 * x, 0.4375 * x]))


def test_force_is_not_zero_in_the_beginning() -> None:
    """Without an initial force, identical skills would stay identical."""
    assert force().term(torch.arange(4), 0).abs().max() > 0.01


def test_a_force_that_continues_lies_where_its_problem_does() -> None:
    """A saved state is loaded to the device of the problem, whatever device it came from."""
    config = small_config(skills=2, diversity="van_der_waals")
    problem = build(table(np.arange(4.0)[:, None]), config)
    elsewhere = VanDerWaals(
        replace(problem, discriminator_input=problem.discriminator_input.to("meta")),
        even(problem),
        config,
        seeded(),
    )
    saved = force().state_dict()
    elsewhere.load_state_dict(saved)
    assert elsewhere.expected.device == torch.device("meta")
    here = force()
    here.load_state_dict(saved)
    here.expected += 1
    assert not torch.equal(here.expected, saved["expected"])  # what was read is a copy


def test_a_force_may_start_from_clusters() -> None:
    """The force starts with the mean features of two separate groups of trajectories."""
    start = DiscriminatorConfig(**PLAIN_DISCRIMINATOR | {"start": "clusters"})
    config = small_config(skills=2, diversity="van_der_waals", discriminator=start)
    problem = build(table(np.repeat([[0.0], [4.0]], 8, axis=0), length=4), config)
    found = VanDerWaals(problem, even(problem), config, seeded())
    found.start(find_clusters(describe_behaviour(problem, even(problem)), config))
    close(found.expected.sort(0).values, torch.tensor([[-1.0], [1.0]]))
