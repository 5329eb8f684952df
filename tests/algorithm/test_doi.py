"""Steps of DOI: weights of policies in the loop, multipliers, and reported metrics."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.cloning import PolicyLearner
from solo_doi.algorithm.clusters import describe_behaviour, find_clusters
from solo_doi.algorithm.doi import Doi
from solo_doi.algorithm.part_configs import MultiplierConfig, PolicyConfig, ValueConfig
from solo_doi.algorithm.smodice import DualValue, Expert, Minibatch
from solo_doi.algorithm.train_config import TrainConfig

from .small import build, ragged, seeded, small_config

QUICK = {
    "skills": 3,
    "subset": 100,
    "value": ValueConfig(hidden=8, updates=4, windows=4, window=8, initial_batch=4),
}


def doi(config: TrainConfig) -> Doi:
    """Return training before its first outer step, with an expert of random ratios."""
    problem = build(ragged((30, 20, 25)), config)
    logit = torch.randn(problem.num_rows, generator=seeded(1))
    return Doi(problem, Expert(logit, equations.log_weights(logit)), config, seeded())


def begin(started: Doi) -> None:
    """Prepare the first outer step, as training does."""
    behaviour = describe_behaviour(started.problem, started.expert.log_w)
    started.start(find_clusters(behaviour, started.config))


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_policies_in_the_loop_are_weighted_by_the_ratios_of_the_divergence(
    divergence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are exp(delta) over its mean for KL, and max(0, delta + 1) for chi2.

    With chi2, many rows have weight zero.
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
    """With sigma 1/2 the exponent is 25 x (1 - 1/2) / 3.

    Without constraint it is 6 / 3, for any sigma and any diversity weight.
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
    """The metrics contain no sigma, and the multipliers do not move."""
    free = doi(small_config(**QUICK, objective="unconstrained:6"))
    told = free.step()
    assert [told[f"exponent/{skill}"] for skill in range(3)] == [2.0] * 3
    assert not any(name.startswith("sigma") for name in told)
    assert torch.equal(free.multipliers.mu, torch.zeros(3))


@pytest.mark.parametrize("data_pull", [0.0, 1.0])
def test_solved_multipliers_meet_the_constraint_before_the_first_step(data_pull: float) -> None:
    """phi over all of the data equals eps, although a subset of 4000 draws was used."""
    settings = QUICK | {"subset": 4000, "eps": 0.3, "data_pull": data_pull, "truncation": 1.0}
    ready = doi(small_config(**settings, multiplier=MultiplierConfig(method="solve")))
    begin(ready)
    phi = equations.kl_estimate(ready.full_log_weights(), ready.expert.log_w)
    torch.testing.assert_close(phi, torch.full_like(phi, 0.3), rtol=0, atol=0.05)


def test_solved_multipliers_follow_values_and_discriminator() -> None:
    """phi returns to eps 0.1 within 30 steps; with steps of Adam it stays ten times as large."""
    phi = {}
    for method in ("solve", "gradient"):
        options = MultiplierConfig(method=method)  # type: ignore[arg-type]
        settings = QUICK | {"subset": 2000, "eps": 0.1, "truncation": 1.0, "data_pull": 0.0}
        trained = doi(small_config(**settings, multiplier=options))
        begin(trained)
        for _ in range(30):
            metrics = trained.step()
        phi[method] = max(metrics[f"phi/{skill}"] for skill in range(3))
    assert phi["solve"] < 0.15
    assert phi["gradient"] > 0.5
