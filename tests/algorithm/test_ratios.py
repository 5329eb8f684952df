"""Ratios over all of the data, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations, ratios
from solo_doi.algorithm.networks import SkillNetwork
from solo_doi.algorithm.ratios import describe, normalised, per_trajectory, state_values

from .small import build, ragged, seeded, small_config

close = torch.testing.assert_close


def tensor(*numbers: float) -> Tensor:
    """Numbers in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def test_values_in_pieces_are_values_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty-six states of 22 transitions, in pieces of four with a rest of two."""
    problem = build(ragged((9, 5, 7, 1)))
    network = SkillNetwork(4, 8, 1, 3, seeded())
    monkeypatch.setattr(ratios, "CHUNK", 4)
    found = state_values(problem.states, network)
    assert found.shape == (3, 26)
    close(found, network(problem.states)[..., 0].detach())
    assert not found.requires_grad


def test_weights_are_capped_before_they_are_normalised() -> None:
    """Ratios 1, 2, 4, 100 capped at the third: 1, 2, 4, 4 over 11. Without: over 107."""
    delta = tensor(1, 2, 4, 100).log()[None]
    close(normalised(delta, small_config(truncation=0.75)).exp(), (tensor(1, 2, 4, 4) / 11)[None])
    close(normalised(delta, small_config(truncation=1.0)).exp(), (tensor(1, 2, 4, 100) / 107)[None])


def test_weights_under_a_chi_square_divergence() -> None:
    """delta + 1 where it is positive, 1, 3, 0, over their sum."""
    found = normalised(tensor(0, 2, -5)[None], small_config(divergence="chi2", truncation=1.0))
    close(found.exp(), tensor(0.25, 0.75, 0)[None])
    assert torch.isfinite(found).all()


def test_weights_are_in_double_precision() -> None:
    """A million of them must sum to one."""
    found = normalised(torch.zeros(1, 1_000_000), small_config())
    assert abs(float(found.exp().sum()) - 1) < 1e-12


def test_weight_of_trajectories_by_hand() -> None:
    """Lengths 3, 1, 4: sums over rows 0 to 2, 3, and 4 to 7."""
    problem = build(ragged((3, 1, 4)))
    w = torch.stack([torch.arange(8.0), torch.ones(8)]).double()
    close(per_trajectory(w, problem), torch.stack([tensor(3, 3, 22), tensor(3, 1, 4)]))


def test_description_by_hand() -> None:
    """Two skills with half of the weight each on two of eight rows, four rows apart.

    An even expert.

    phi: log(8 / 2) = log 4; effective samples 2 of 8. Skill 0 has rows 0 and 1, skill 1 rows 2 and
    4: no row shared, distance 2. By trajectory (3, 1, 4): all against half in the first, half in
    the last: 1/2 + 1/2 = 1.
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


def test_a_single_skill_differs_from_nothing() -> None:
    """Distances are left out; the rest is there."""
    log_w = equations.log_weights(torch.zeros(1, 8))
    found = describe(log_w, log_w[0], build(ragged((3, 1, 4))))
    assert found["phi"] == [0.0]
    assert not [name for name in found if name.startswith("ratio")]


def test_truncation_is_off_at_one_only() -> None:
    """0.999 of a thousand rows caps the largest at the second largest."""
    delta = torch.arange(1000.0)[None]
    capped = normalised(delta, replace(small_config(), truncation=0.999))
    close(capped[0, -1], capped[0, -2])
    free = normalised(delta, replace(small_config(), truncation=1.0))
    close(free[0, -1] - free[0, -2], tensor(1)[0])
