"""Steps of DOI: what policies in the loop learn from, and what is said of a step."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.cloning import PolicyLearner
from solo_doi.algorithm.doi import Doi
from solo_doi.algorithm.part_configs import PolicyConfig, ValueConfig
from solo_doi.algorithm.smodice import DualValue, Expert, Minibatch
from solo_doi.algorithm.train_config import TrainConfig

from .small import build, ragged, seeded, small_config

QUICK = {
    "skills": 3,
    "subset": 100,
    "value": ValueConfig(hidden=8, updates=4, windows=4, window=8, initial_batch=4),
}


def doi(config: TrainConfig) -> Doi:
    """Training that could begin, with an expert of random ratios."""
    problem = build(ragged((30, 20, 25)), config)
    logit = torch.randn(problem.num_rows, generator=seeded(1))
    return Doi(problem, Expert(logit, equations.log_weights(logit)), config, seeded())


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_policies_in_the_loop_are_weighted_by_the_ratios_of_the_divergence(
    divergence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exp delta over its mean, or max(0, delta + 1).

    Which is nothing for many rows of such rewards.
    """
    differences, weights = [], []
    value_step, policy_step = DualValue.step, PolicyLearner.weighted_step

    def watched(self: DualValue, batch: Minibatch, reward: Tensor) -> tuple[float, Tensor]:
        loss, delta = value_step(self, batch, reward)
        differences.append(delta)
        return loss, delta

    def weighted(self: PolicyLearner, rows: Tensor, eta: Tensor) -> float:
        weights.append(eta)
        return policy_step(self, rows, eta)

    monkeypatch.setattr(DualValue, "step", watched)
    monkeypatch.setattr(PolicyLearner, "weighted_step", weighted)
    policy = PolicyConfig(in_loop=True, hidden=8)
    doi(small_config(**QUICK, divergence=divergence, policy=policy, data_pull=0.1)).step()
    ratio = (
        partial(torch.softmax, dim=1) if divergence == "kl" else lambda delta: torch.relu(delta + 1)
    )
    scale = (
        32 if divergence == "kl" else 1
    )  # rows of a minibatch: a softmax sums to one, ratios have mean one
    assert len(weights) == len(differences) == 4
    for delta, eta in zip(differences, weights, strict=True):
        torch.testing.assert_close(eta, scale * ratio(delta), rtol=1e-4, atol=1e-6)
    assert any((eta < 1e-20).any() for eta in weights) == (divergence == "chi2")


def test_the_exponent_is_what_multiplies_log_odds_between_skills() -> None:
    """25 x (1 - 1/2) / 3 under a sigma of one half.

    6 / 3 without constraint, whatever sigma and weight would be.
    """
    constrained = doi(
        small_config(**QUICK, multipliers="fixed:0.5", diversity_weight=25.0)
    ).imitation_weights()
    torch.testing.assert_close(constrained["exponent"], torch.full((3,), 25 / 6))
    free = doi(
        small_config(
            **QUICK, objective="unconstrained:6", multipliers="fixed:0.9", diversity_weight=99.0
        )
    )
    torch.testing.assert_close(free.imitation_weights()["exponent"], torch.full((3,), 2.0))
    log_q = torch.log_softmax(torch.randn(3, 2, generator=seeded(3)), dim=0)
    terms = equations.diversity_term(log_q, 3)
    # With all else equal, delta and so the log ratios of two skills differ by alpha times the
    # difference of the terms.
    reward = equations.unconstrained_reward(terms, torch.zeros(2), 6.0)
    torch.testing.assert_close(reward[0] - reward[1], 2.0 * (log_q[0] - log_q[1]))


def test_without_constraint_nothing_is_said_of_multipliers() -> None:
    """They play no part, and do not move."""
    free = doi(small_config(**QUICK, objective="unconstrained:6"))
    told = free.step()
    assert [told[f"exponent/{skill}"] for skill in range(3)] == [2.0] * 3
    assert not any(name.startswith("sigma") for name in told)
    assert torch.equal(free.multipliers.mu, torch.zeros(3))
