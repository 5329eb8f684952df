"""What tells skills apart: what it learns, from which rows, and the reward it gives."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.diagnostics import TrainingError
from solo_doi.algorithm.diversity import Discriminator, VanDerWaals, make_diversity, named_right
from solo_doi.algorithm.part_configs import DiscriminatorConfig
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem

from .small import EVERYTHING, build, seeded, small_config, table

close = torch.testing.assert_close
STATES, ROWS = 4, 40


def options(**changes: object) -> TrainConfig:
    """Three skills and a small discriminator."""
    settings = {
        "terms": EVERYTHING,
        "average": 1,
        "held_out": 0.0,
        "hidden": 32,
        "members": 2,
        "lr": 1e-2,
        "batch": 256,
    }
    return small_config(skills=3, discriminator=DiscriminatorConfig(**(settings | changes)))  # type: ignore[arg-type]


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

    Every skill as likely.
    """
    config = options(updates=400)
    problem, log_w = tabular(config), uneven_weights()
    discriminator = Discriminator(problem, config, seeded())
    discriminator.fit(torch.arange(ROWS), log_w)
    share = log_w.exp().view(3, -1, STATES).sum(1)
    with torch.no_grad():
        found = discriminator.network(problem.discriminator_input[:STATES]).exp()
    close(found, (share / share.sum(0)).float().expand(2, 3, STATES), rtol=0, atol=0.05)


def test_rows_are_matched_with_their_weights() -> None:
    """Rows given out of order and in part: weights belong to the rows beside them."""
    config = options(updates=400)
    problem, log_w = tabular(config), uneven_weights()
    rows = torch.randperm(ROWS, generator=seeded(2))[:30]
    discriminator = Discriminator(problem, config, seeded())
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
    """They are not numbers and carry most of the weight.

    One of them in a minibatch would make the loss NaN.
    """
    config = options(updates=20)
    problem = tabular(config)
    hidden = torch.arange(ROWS) % 3 == 0
    poisoned = torch.where(hidden[:, None], torch.nan, problem.discriminator_input)
    problem = replace(problem, held_out=hidden & held_out, discriminator_input=poisoned)
    log_w = equations.log_weights(torch.where(hidden, 5.0, 0.0).expand(3, ROWS))
    loss = Discriminator(problem, config, seeded()).fit(torch.arange(ROWS), log_w)[
        "loss/discriminator"
    ]
    assert np.isfinite(loss) == held_out


def test_what_is_withheld_of_a_skill_makes_it_no_less_likely() -> None:
    """Nine tenths of skill 0 lie on withheld rows.

    What is left of each is the same, so that q is even.
    """
    config = options(updates=300)
    hidden = torch.arange(ROWS) < STATES
    problem = replace(tabular(config), held_out=hidden)
    weight = torch.ones(3, ROWS)
    weight[0, hidden] = 9 * (ROWS - STATES) / STATES
    discriminator = Discriminator(problem, config, seeded())
    discriminator.fit(torch.arange(ROWS), equations.log_weights(weight.log()))
    with torch.no_grad():
        found = discriminator.network(problem.discriminator_input[:STATES]).exp()
    close(found, torch.full((2, 3, STATES), 1 / 3), rtol=0, atol=0.05)


def test_skills_that_are_withheld_altogether_end_training() -> None:
    """With what to change."""
    config = options(updates=1)
    problem = replace(tabular(config), held_out=torch.arange(ROWS) < STATES)
    weight = torch.where(problem.held_out, 0.0, -1e4).expand(3, ROWS)
    with pytest.raises(
        TrainingError, match=r"withheld from the discriminator\. Lower discriminator\.held_out"
    ):
        Discriminator(problem, config, seeded()).fit(
            torch.arange(ROWS), equations.log_weights(weight.double())
        )


def test_skills_that_share_nothing_are_named_always_and_equal_ones_by_chance() -> None:
    """Each skill in a state of its own: accuracy 1, loss near 0. All alike: 1/3 and log 3."""
    config = options(updates=200)
    problem = tabular(config)
    apart = torch.where(torch.arange(ROWS) % STATES == torch.arange(3)[:, None], 0.0, -500.0)
    metrics = Discriminator(problem, config, seeded()).fit(
        torch.arange(ROWS), equations.log_weights(apart)
    )
    assert metrics["discriminator_accuracy"] == pytest.approx(1)
    assert metrics["loss/discriminator"] == pytest.approx(0, abs=0.02)
    metrics = Discriminator(problem, config, seeded()).fit(
        torch.arange(ROWS), equations.log_weights(0 * apart)
    )
    assert metrics["discriminator_accuracy"] == pytest.approx(1 / 3)
    assert metrics["loss/discriminator"] == pytest.approx(log(3), abs=0.02)


def test_named_right_by_hand() -> None:
    """Two states: skill 1 is named in the first, where it has 0.3, and skill 0 in the second.

    Where it has 0.8.
    """
    log_q = torch.tensor([[[0.4, 0.7], [0.6, 0.3]]]).log()
    close(named_right(log_q, torch.tensor([[0.7, 0.8], [0.3, 0.2]])), torch.tensor(0.55))


def test_term_is_log_q_of_the_ensemble_and_a_bonus() -> None:
    """As the equations say, with the floor and weight that are set."""
    config = options(disdain=0.5, log_floor=-1.0, members=3)
    problem, rows = tabular(config), torch.tensor([3, 0, 17])
    discriminator = Discriminator(problem, config, seeded())
    with torch.no_grad():
        members = discriminator.network(problem.discriminator_input[rows])
    plain = equations.diversity_term(equations.ensemble_log_prob(members), 3, -1.0)
    bonus = equations.disdain_bonus(members)
    assert bonus.min() > 1e-4
    close(discriminator.term(rows, 0), plain + 0.5 * bonus)
    close(discriminator.term(rows, 10_000), plain + 0.5 * bonus)


@pytest.mark.parametrize(("outer", "share"), [(0, 1.0), (5, 0.75), (20, 0.0), (50, 0.0)])
def test_bonus_fades(outer: int, share: float) -> None:
    """Over 20 outer steps: a quarter is gone after 5, all after 20, and it never turns."""
    config = options(disdain=0.5, disdain_steps=20)
    problem, rows = tabular(config), torch.arange(STATES)
    discriminator = Discriminator(problem, config, seeded())
    without = Discriminator(problem, options(disdain=0.0), seeded())
    with torch.no_grad():
        bonus = equations.disdain_bonus(discriminator.network(problem.discriminator_input[rows]))
    close(
        discriminator.term(rows, outer) - without.term(rows, outer),
        (0.5 * share * bonus).expand(3, STATES),
    )


def perfect(problem: Problem, config: TrainConfig) -> Discriminator:
    """A discriminator that names skill 0, 1 or 2 in states 0, 1, 2 and skill 0 in state 3."""
    discriminator = Discriminator(problem, config, seeded())
    apart = torch.where(torch.arange(ROWS) % STATES % 3 == torch.arange(3)[:, None], 0.0, -500.0)
    discriminator.fit(torch.arange(ROWS), equations.log_weights(apart))
    return discriminator


def test_held_out_accuracy_by_hand() -> None:
    """Rows 0 to 3 are held out, one of each state; what other rows weigh does not count.

    Skill 0 has 1/2 in states 0 and 3, where it is named: right with all of it. Skill 1 has 1/4 in
    state 1 and 3/4 elsewhere: 1/4. Skill 2 is never in state 2: nothing. The mean is 5/12.
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
    """There is no number to give, rather than zero."""
    config = options()
    assert (
        Discriminator(tabular(config), config, seeded()).held_out_accuracy(uneven_weights()) is None
    )


def test_discriminator_learns_the_same_from_the_same_seed() -> None:
    """Weights and minibatches come from its generator."""
    config = options(updates=3)
    problem = tabular(config)
    found = []
    for seed in (0, 0, 1):
        discriminator = Discriminator(problem, config, seeded(seed))
        discriminator.fit(torch.arange(ROWS), uneven_weights())
        found.append(discriminator.term(torch.arange(STATES), 0))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


# --- Van der Waals -------------------------------------------------------------------------------


def force() -> VanDerWaals:
    """Two skills on four rows with features 0, 1, 2, 3.

    In a scale with mean 1.5 and deviation sqrt(1.25).
    """
    config = replace(small_config(skills=2, diversity="van_der_waals", reach=2.0))
    return VanDerWaals(build(table(np.arange(4.0)[:, None]), config), config, seeded())


def test_force_learns_mean_features() -> None:
    """Weights on the first two and on the last two rows.

    (0.5 - 1.5) / sqrt 1.25 and the opposite.
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
    """Means at -1/2 and 1/2, reach 2.

    Strength 1 - 1/8, direction -1 and 1, feature x, over two skills.
    """
    found = force()
    found.expected = torch.tensor([[-0.5], [0.5]])
    x = (torch.arange(4.0) - 1.5) / 1.25**0.5
    close(found.term(torch.arange(4), 3), torch.stack([-0.4375 * x, 0.4375 * x]))


def test_force_is_not_zero_in_the_beginning() -> None:
    """Or skills that start alike would stay alike."""
    assert force().term(torch.arange(4), 0).abs().max() > 0.01


def test_a_force_that_continues_lies_where_its_problem_does() -> None:
    """A saved state is read into the processor's memory, whatever device it came from."""
    config = small_config(skills=2, diversity="van_der_waals")
    problem = build(table(np.arange(4.0)[:, None]), config)
    elsewhere = VanDerWaals(
        replace(problem, discriminator_input=problem.discriminator_input.to("meta")),
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


@pytest.mark.parametrize("kind", ["discriminator", "van_der_waals"])
def test_what_is_learned_can_be_carried_over(kind: str) -> None:
    """Parts out of one and into another: the same reward from then on."""
    config = replace(options(updates=3), diversity=kind)
    problem = tabular(config)
    one, other = (make_diversity(problem, config, seeded(seed)) for seed in (0, 1))
    one.fit(torch.arange(ROWS), uneven_weights())
    rows = torch.arange(STATES)
    assert not torch.equal(one.term(rows, 0), other.term(rows, 0))
    parts = other.parts()
    for name, part in one.parts().items():
        parts[name].load_state_dict(deepcopy(part.state_dict()))
    assert torch.equal(one.term(rows, 0), other.term(rows, 0))


def test_the_configuration_names_the_kind() -> None:
    """Both of them."""
    config = options()
    problem = tabular(config)
    assert isinstance(make_diversity(problem, config, seeded()), Discriminator)
    assert isinstance(
        make_diversity(problem, replace(config, diversity="van_der_waals"), seeded()), VanDerWaals
    )
