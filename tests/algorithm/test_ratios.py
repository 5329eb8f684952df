"""Ratios over all of the data, and their description."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations, ratios
from solo_doi.algorithm.numerics.networks import SkillNetwork
from solo_doi.algorithm.ratios import (
    describe,
    normalised,
    per_trajectory,
    rejected_share,
    state_values,
    trajectory_mean,
)

from .small import build, ragged, seeded, small_config

close = torch.testing.assert_close


def tensor(*numbers: float) -> Tensor:
    """Return numbers in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def test_values_in_pieces_are_values_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 26 states of 22 transitions are evaluated in chunks of four, with two left over."""
    problem = build(ragged((9, 5, 7, 1)))
    network = SkillNetwork(4, 8, 1, 3, seeded())
    monkeypatch.setattr(ratios, "RATIO_CHUNK", 4)
    found = state_values(problem.states, network)
    assert found.shape == (3, 26)
    close(found, network(problem.states)[..., 0].detach())
    assert not found.requires_grad


def test_weights_are_capped_before_they_are_normalised() -> None:
    """Ratios 1, 2, 4, 100 capped at the third give 1, 2, 4, 4 over 11.

    Without a cap they are over 107.
    """
    delta = tensor(1, 2, 4, 100).log()[None]
    close(normalised(delta, small_config(truncation=0.75)).exp(), (tensor(1, 2, 4, 4) / 11)[None])
    close(normalised(delta, small_config(truncation=1.0)).exp(), (tensor(1, 2, 4, 100) / 107)[None])


def test_weights_under_a_chi_square_divergence() -> None:
    """The weights are max(delta + 1, 0), here 1, 3, 0, over their sum."""
    found = normalised(tensor(0, 2, -5)[None], small_config(divergence="chi2", truncation=1.0))
    close(found.exp(), tensor(0.25, 0.75, 0)[None])
    assert torch.isfinite(found).all()


def test_weights_are_in_double_precision() -> None:
    """A million weights sum to one within 1e-12."""
    found = normalised(torch.zeros(1, 1_000_000), small_config())
    assert abs(float(found.exp().sum()) - 1) < 1e-12


def test_weight_of_trajectories_by_hand() -> None:
    """Trajectories of lengths 3, 1, 4 sum the rows 0 to 2, 3, and 4 to 7."""
    problem = build(ragged((3, 1, 4)))
    w = torch.stack([torch.arange(8.0), torch.ones(8)]).double()
    close(per_trajectory(w, problem), torch.stack([tensor(3, 3, 22), tensor(3, 1, 4)]))


def test_description_by_hand() -> None:
    """Two skills have half of their weight each on two of eight rows; the expert is uniform.

    phi is log(8 / 2) = log 4; effective samples are 2 of 8. Skill 0 has rows 0 and 1, skill 1 rows
    2 and 4: they share no row, so the distance is 2. By trajectory (3, 1, 4), skill 0 has all of
    its weight in the first. Skill 1 has half in the first and half in the last: the distance is 1/2
    + 1/2 = 1.
    """
    problem = build(ragged((3, 1, 4)))
    w = np.zeros((2, 8))
    w[0, [0, 1]] = w[1, [2, 4]] = 0.5
    log_w = equations.log_weights(torch.from_numpy(np.maximum(w, 1e-200)).log())
    found = describe(log_w, equations.log_weights(torch.zeros(8)), problem)
    expected = {
        "phi": [log(4)] * 2, "phi_mean": log(4),
        "effective_samples": [2.0] * 2, "effective_share": [0.25] * 2, "effective_share_mean": 0.25,
        "ratio_l1": 2.0, "ratio_l1_per_skill": [2.0] * 2,
        "ratio_l1_trajectory": 1.0, "ratio_l1_trajectory_per_skill": [1.0] * 2,
    }  # fmt: skip
    assert found == {name: pytest.approx(value, abs=1e-9) for name, value in expected.items()}


def test_a_single_skill_has_no_distances() -> None:
    """The description omits the distances and keeps the rest."""
    log_w = equations.log_weights(torch.zeros(1, 8))
    found = describe(log_w, log_w[0], build(ragged((3, 1, 4))))
    assert found["phi"] == [0.0]
    assert not [name for name in found if name.startswith("ratio")]


def test_truncation_is_off_at_one_only() -> None:
    """Truncation at 0.999 of a thousand rows caps the largest at the second largest."""
    delta = torch.arange(1000.0)[None]
    capped = normalised(delta, replace(small_config(), truncation=0.999))
    close(capped[0, -1], capped[0, -2])
    free = normalised(delta, replace(small_config(), truncation=1.0))
    close(free[0, -1] - free[0, -2], tensor(1)[0])


@pytest.mark.parametrize(("power", "second"), [(1.0, 5.0), (0.5, 4.0)])
def test_trajectory_mean_by_hand(power: float, second: float) -> None:
    """Weights 4, 4 and 1, 9, 1, 9 have means 4 and 5; with power 1/2, 4 and ((1 + 3) / 2)^2 = 4."""
    problem = build(ragged((2, 4)))
    log_w = equations.log_weights(tensor(4, 4, 1, 9, 1, 9).log())
    expected = tensor(4, 4, *[second] * 4)
    close(trajectory_mean(log_w, problem, power).exp(), expected / expected.sum())


def test_a_trajectory_without_weight_stays_without() -> None:
    """Weights far below the smallest float have finite logarithms."""
    problem = build(ragged((2, 2)))
    found = trajectory_mean(tensor(0, 0, -2000, -2000), problem, 0.5)
    assert found.isfinite().all()
    close(found.exp(), tensor(0.5, 0.5, 0, 0))


def test_weight_on_trajectories_below_the_average_is_rejected() -> None:
    """Ten rows: means of 0.4, 0.6 and 3 times the average; the first two hold 0.4 of the weight."""
    problem = build(ragged((4, 4, 2)))
    w = tensor(0.04, 0.04, 0.04, 0.04, 0.06, 0.06, 0.06, 0.06, 0.3, 0.3)
    assert rejected_share(w.log(), problem) == pytest.approx(0.4)
