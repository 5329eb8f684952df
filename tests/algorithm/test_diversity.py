"""Measures of diversity: fitted parameters, the rows they are fitted to, and rewards."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.clusters import describe_behaviour, find_clusters
from solo_doi.algorithm.diagnostics import TrainingError
from solo_doi.algorithm.discriminator import Discriminator, named_right
from solo_doi.algorithm.diversity import make_diversity
from solo_doi.algorithm.part_configs import DiscriminatorConfig
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem
from solo_doi.algorithm.van_der_waals import VanDerWaals
from tests.algorithm.small import PLAIN_DISCRIMINATOR, build, even, seeded, small_config, table

close = torch.testing.assert_close
STATES, ROWS = 4, 40


def options(**changes: object) -> TrainConfig:
    """Three skills and a small discriminator."""
    settings = {
        **PLAIN_DISCRIMINATOR,
        "hidden": 32,
        "members": 2,
        "lr": 1e-2,
        "batch": 256,
    }
    return small_config(skills=3, discriminator=DiscriminatorConfig(**(settings | changes)))


def tabular(config: TrainConfig) -> Problem:
    """Forty transitions of one step, ten in each of four states, which are one-hot codes."""
    return build(table(np.eye(STATES)[np.arange(ROWS) % STATES]), config)


def uneven_weights() -> Tensor:
    """Log weights (3, 40) that differ between rows of a state too."""
    by_state = torch.tensor([[4.0, 1, 1, 0.5], [1, 4, 0.2, 0.5], [0.1, 1, 3, 0.5]]).repeat(
        1, ROWS // STATES
    )
    return equations.log_weights(
        (by_state * (0.5 + torch.rand(3, ROWS, generator=seeded(4)))).log()
    )


# --- Discriminator -------------------------------------------------------------------------------


def test_discriminator_becomes_the_share_of_each_skill() -> None:
    """q(z|s) = w_z(s) / sum of w(s), with weights summed over the rows of a state.

    All skills are equally likely.
    """
    config = options(updates=400)
    problem, log_w = tabular(config), uneven_weights()
    discriminator = Discriminator(problem, even(problem), config, seeded())
    discriminator.fit(torch.arange(ROWS), log_w)
    share = log_w.exp().view(3, -1, STATES).sum(1)
    with torch.no_grad():
        found = discriminator.network(problem.discriminator_input[:STATES]).exp()
    close(found, (share / share.sum(0)).float().expand(2, 3, STATES), rtol=0, atol=0.05)


def test_rows_are_matched_with_their_weights() -> None:
    """Each row is weighted by its own weight if rows are a shuffled subset of the data."""
    config = options(updates=400)
    problem, log_w = tabular(config), uneven_weights()
    rows = torch.randperm(ROWS, generator=seeded(2))[:30]
    discriminator = Discriminator(problem, even(problem), config, seeded())
    discriminator.fit(rows, equations.log_weights(log_w[:, rows]))
    w = equations.log_weights(log_w[:, rows]).exp()
    share = torch.zeros(3, STATES, dtype=torch.float64).index_add_(1, rows % STATES, w)
    with torch.no_grad():
        found = equations.ensemble_log_prob(
            discriminator.network(problem.discriminator_input[:STATES])
        ).exp()
    close(found, (share / share.sum(0)).float(), rtol=0, atol=0.06)


@pytest.mark.parametrize("held_out", [True, False])
def test_held_out_rows_are_never_learned_from(held_out: bool) -> None:
    """Held-out rows contain NaN and have most of the weight.

    A single one in a minibatch would make the loss NaN.
    """
    config = options(updates=20)
    problem = tabular(config)
    hidden = torch.arange(ROWS) % 3 == 0
    poisoned = torch.where(hidden[:, None], torch.nan, problem.discriminator_input)
    problem = replace(problem, held_out=hidden & held_out, discriminator_input=poisoned)
    log_w = equations.log_weights(torch.where(hidden, 5.0, 0.0).expand(3, ROWS))
    loss = Discriminator(problem, even(problem), config, seeded()).fit(torch.arange(ROWS), log_w)[
        "loss/discriminator"
    ]
    assert np.isfinite(loss) == held_out


def test_what_is_withheld_of_a_skill_makes_it_no_less_likely() -> None:
    """Nine tenths of the weight of skill 0 are on held-out rows.

    On the other rows all skills have equal weights, so q is uniform.
    """
    config = options(updates=300)
    hidden = torch.arange(ROWS) < STATES
    problem = replace(tabular(config), held_out=hidden)
    weight = torch.ones(3, ROWS)
    weight[0, hidden] = 9 * (ROWS - STATES) / STATES
    discriminator = Discriminator(problem, even(problem), config, seeded())
    discriminator.fit(torch.arange(ROWS), equations.log_weights(weight.log()))
    with torch.no_grad():
        found = discriminator.network(problem.discriminator_input[:STATES]).exp()
    close(found, torch.full((2, 3, STATES), 1 / 3), rtol=0, atol=0.05)


def test_skills_that_are_withheld_altogether_end_training() -> None:
    """The error names the setting to change."""
    config = options(updates=1)
    problem = replace(tabular(config), held_out=torch.arange(ROWS) < STATES)
    weight = torch.where(problem.held_out, 0.0, -1e4).expand(3, ROWS)
    with pytest.raises(
        TrainingError, match=r"withheld from the discriminator\. Lower discriminator\.held_out"
    ):
        Discriminator(problem, even(problem), config, seeded()).fit(
            torch.arange(ROWS), equations.log_weights(weight.double())
        )


def test_skills_that_share_nothing_are_named_always_and_equal_ones_by_chance() -> None:
    """Skills in separate states give accuracy 1 and a loss near 0.

    Identical skills give accuracy 1/3 and a loss of log 3.
    """
    config = options(updates=200)
    problem = tabular(config)
    apart = torch.where(torch.arange(ROWS) % STATES == torch.arange(3)[:, None], 0.0, -500.0)
    metrics = Discriminator(problem, even(problem), config, seeded()).fit(
        torch.arange(ROWS), equations.log_weights(apart)
    )
    assert metrics["discriminator_accuracy"] == pytest.approx(1)
    assert metrics["loss/discriminator"] == pytest.approx(0, abs=0.02)
    metrics = Discriminator(problem, even(problem), config, seeded()).fit(
        torch.arange(ROWS), equations.log_weights(0 * apart)
    )
    assert metrics["discriminator_accuracy"] == pytest.approx(1 / 3)
    assert metrics["loss/discriminator"] == pytest.approx(log(3), abs=0.02)


def test_named_right_by_hand() -> None:
    """Skill 1 is predicted in the first state, skill 0 in the second.

    Their labels there are 0.3 and 0.8; the mean is 0.55.
    """
    log_q = torch.tensor([[[0.4, 0.7], [0.6, 0.3]]]).log()
    close(named_right(log_q, torch.tensor([[0.7, 0.8], [0.3, 0.2]])), torch.tensor(0.55))


def test_term_is_log_q_of_the_ensemble_and_a_bonus() -> None:
    """The term equals that of the equations, with the configured floor and bonus weight."""
    config = options(disdain=0.5, log_floor=-1.0, members=3)
    problem, rows = tabular(config), torch.tensor([3, 0, 17])
    discriminator = Discriminator(problem, even(problem), config, seeded())
    with torch.no_grad():
        members = discriminator.network(problem.discriminator_input[rows])
    plain = equations.diversity_term(equations.ensemble_log_prob(members), 3, -1.0)
    bonus = equations.disdain_bonus(members)
    assert bonus.min() > 1e-4
    close(discriminator.term(rows, 0), plain + 0.5 * bonus)
    close(discriminator.term(rows, 10_000), plain + 0.5 * bonus)


@pytest.mark.parametrize(("outer", "share"), [(0, 1.0), (5, 0.75), (20, 0.0), (50, 0.0)])
def test_bonus_fades(outer: int, share: float) -> None:
    """Over 20 outer steps the bonus falls to 3/4 after 5 steps and to 0 after 20.

    It never becomes negative.
    """
    config = options(disdain=0.5, disdain_steps=20)
    problem, rows = tabular(config), torch.arange(STATES)
    discriminator = Discriminator(problem, even(problem), config, seeded())
    without = Discriminator(problem, even(problem), options(disdain=0.0), seeded())
    with torch.no_grad():
        bonus = equations.disdain_bonus(discriminator.network(problem.discriminator_input[rows]))
    close(
        discriminator.term(rows, outer) - without.term(rows, outer),
        (0.5 * share * bonus).expand(3, STATES),
    )


def perfect(problem: Problem, config: TrainConfig) -> Discriminator:
    """Return a discriminator that predicts skills 0, 1, 2, 0 in states 0, 1, 2, 3."""
    discriminator = Discriminator(problem, even(problem), config, seeded())
    apart = torch.where(torch.arange(ROWS) % STATES % 3 == torch.arange(3)[:, None], 0.0, -500.0)
    discriminator.fit(torch.arange(ROWS), equations.log_weights(apart))
    return discriminator


def test_held_out_accuracy_by_hand() -> None:
    """Rows 0 to 3 are held out, one of each state; weights of other rows do not count.

    Skill 0 is predicted in states 0 and 3, where it has all of its weight: accuracy 1. Skill 1 has
    1/4 of its weight in state 1: accuracy 1/4. Skill 2 has no weight in state 2: accuracy 0. The
    mean is 5/12.
    """
    config = options(updates=200)
    problem = tabular(config)
    discriminator = perfect(problem, config)
    discriminator._problem = replace(problem, held_out=torch.arange(ROWS) < STATES)
    weights = torch.full((3, ROWS), 7.0, dtype=torch.float64)
    weights[:, :STATES] = torch.tensor([[0.5, 0, 0, 0.5], [0.5, 0.25, 0.25, 0], [0.5, 0.5, 0, 0]])
    accuracy = discriminator.held_out_accuracy(
        equations.log_weights(weights.clamp(min=1e-300).log())
    )
    assert accuracy == pytest.approx(5 / 12)


def test_held_out_accuracy_needs_held_out_rows() -> None:
    """Without held-out rows the accuracy is None, not zero."""
    config = options()
    assert (
        Discriminator(tabular(config), even(tabular(config)), config, seeded()).held_out_accuracy(
            uneven_weights()
        )
        is None
    )


def test_discriminator_learns_the_same_from_the_same_seed() -> None:
    """Weights and minibatches come from its generator."""
    config = options(updates=3)
    problem = tabular(config)
    found = []
    for seed in (0, 0, 1):
        discriminator = Discriminator(problem, even(problem), config, seeded(seed))
        discriminator.fit(torch.arange(ROWS), uneven_weights())
        found.append(discriminator.term(torch.arange(STATES), 0))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


# --- Noise, background and start -----------------------------------------------------------------


def test_the_expert_is_one_more_class() -> None:
    """q(z|s) = w_z(s) / (sum of w(s) + 2 w_E(s)), with an expert whose weight is even."""
    config = options(updates=600, background=2.0)
    problem, log_w = tabular(config), uneven_weights()
    discriminator = Discriminator(problem, even(problem), config, seeded())
    discriminator.fit(torch.arange(ROWS), log_w)
    share = log_w.exp().view(3, -1, STATES).sum(1)
    with torch.no_grad():
        found = discriminator.network(problem.discriminator_input[:STATES]).exp()
    expected = (share / (share.sum(0) + 2 / STATES)).float()
    close(found[:, :3], expected.expand(2, 3, STATES), rtol=0, atol=0.05)
    assert discriminator.term(torch.arange(STATES), 0).shape == (3, STATES)


def test_noise_hides_small_differences() -> None:
    """Two skills are in two states, two deviations apart.

    Without noise they are separated with certainty; with noise of one deviation they are not.
    """
    log_w = torch.tensor([[1.0, 0.0] * 20, [0.0, 1.0] * 20]).clamp(min=1e-30).double()
    log_w = equations.log_weights(log_w.log())
    shares = []
    for noise in (0.0, 1.0):
        config = replace(options(updates=400, noise=noise), skills=2)
        problem = build(table(np.array([[0.0], [1.0]] * 20)), config)
        discriminator = Discriminator(problem, even(problem), config, seeded())
        discriminator.fit(torch.arange(40), log_w)
        with torch.no_grad():
            q = discriminator.network(problem.discriminator_input[:1])[:, 0].exp()
        shares.append(float(q.mean()))
    assert shares[0] > 0.99
    # Inputs are -1 and 1 with unit noise: the log odds at -1 are 2.
    assert shares[1] == pytest.approx(1 / (1 + np.exp(-2)), abs=0.05)


def test_the_start_is_a_cluster_per_skill() -> None:
    """Before the first outer step, each cluster of states is assigned to its own skill."""
    config = options(start="clusters", start_updates=400)
    problem = build(table(np.eye(3)[np.arange(36) // 4 % 3], length=4), config)
    discriminator = Discriminator(problem, even(problem), config, seeded())
    discriminator.start(find_clusters(describe_behaviour(problem, even(problem)), config))
    with torch.no_grad():
        q = equations.ensemble_log_prob(discriminator.network(problem.discriminator_input)).exp()
    assert (q.max(0).values > 0.95).all()
    assert len(q.argmax(0)[[0, 4, 8]].unique()) == 3


def test_a_random_start_learns_nothing() -> None:
    """The printed method begins with random weights."""
    config = options()
    problem = tabular(config)
    discriminator = Discriminator(problem, even(problem), config, seeded())
    before = deepcopy(discriminator.network.state_dict())
    discriminator.start(find_clusters(describe_behaviour(problem, even(problem)), config))
    for name, value in discriminator.network.state_dict().items():
        assert torch.equal(value, before[name])


# --- Both kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discriminator", "van_der_waals"])
def test_what_is_learned_can_be_carried_over(kind: str) -> None:
    """Parts that are copied to another instance give the same reward."""
    config = replace(options(updates=3), diversity=kind)
    problem = tabular(config)
    one, other = (make_diversity(problem, even(problem), config, seeded(seed)) for seed in (0, 1))
    one.fit(torch.arange(ROWS), uneven_weights())
    rows = torch.arange(STATES)
    assert not torch.equal(one.term(rows, 0), other.term(rows, 0))
    parts = other.parts()
    for name, part in one.parts().items():
        parts[name].load_state_dict(deepcopy(part.state_dict()))
    assert torch.equal(one.term(rows, 0), other.term(rows, 0))


def test_the_configuration_names_the_kind() -> None:
    """The setting `diversity` selects a discriminator or a force."""
    config = options()
    problem = tabular(config)
    assert isinstance(make_diversity(problem, even(problem), config, seeded()), Discriminator)
    assert isinstance(
        make_diversity(
            problem, even(problem), replace(config, diversity="van_der_waals"), seeded()
        ),
        VanDerWaals,
    )
