"""Weighted behaviour cloning: sampling of rows, and learning from them."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.cloning import LOG_STD_RANGE, PolicyLearner, clone, draw_rows
from solo_doi.algorithm.numerics.networks import SkillNetwork
from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.algorithm.training_data import ACTION_RANGE, Problem

from .small import build, ragged, seeded, table

close = torch.testing.assert_close
QUICK = {"hidden": 32, "updates": 300, "batch": 64, "lr": 1e-2}


def log_of(weights: list[list[float]]) -> Tensor:
    """Return log weights (Z, N) in double precision, with 1e-300 for zero."""
    return torch.tensor(weights, dtype=torch.float64).clamp(min=1e-300).log()


def crossing() -> Problem:
    """Two trajectories through the same two states, in which actions are opposite."""
    states = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    return build(table(states, np.array([[-0.5], [0.5], [0.5], [-0.5]]), length=2))


def mean_action(network: SkillNetwork, problem: Problem, *, squashed: bool = False) -> Tensor:
    """Return the mean of the scaled action (Z, N) in every transition's state."""
    with torch.no_grad():
        mean = network(problem.states[problem.here])[..., 0]
    return mean.tanh() if squashed else mean


# --- Drawing -------------------------------------------------------------------------------------


def test_rows_are_drawn_by_their_weights() -> None:
    """The chi-square statistic of 40,000 draws of five rows stays below 23.5.

    With four degrees of freedom, one sample in 10,000 exceeds it.
    """
    weights = torch.tensor(
        [[0.1, 0.2, 0.05, 0.4, 0.25], [0.5, 0.1, 0.1, 0.1, 0.2]], dtype=torch.float64
    )
    rows = draw_rows(weights.cumsum(1), 40_000, seeded())
    assert rows.shape == (2, 40_000)
    for drawn, expected in zip(rows, 40_000 * weights, strict=True):
        counts = torch.bincount(drawn, minlength=5)
        assert ((counts - expected).square() / expected).sum() < 23.5


def test_weights_need_not_sum_to_one() -> None:
    """Only ratios matter: ten times the weights give the same draws."""
    weights = torch.tensor([[0.1, 0.2, 0.7]], dtype=torch.float64)
    close(
        draw_rows(weights.cumsum(1), 1000, seeded()),
        draw_rows(10 * weights.cumsum(1), 1000, seeded()),
    )


def test_rows_without_weight_are_never_drawn() -> None:
    """Rows of weight zero are at the beginning, in between and at the end."""
    weights = torch.tensor([[0.0, 0.0, 0.3, 0.0, 0.7, 0.0]], dtype=torch.float64)
    assert set(draw_rows(weights.cumsum(1), 20_000, seeded())[0].tolist()) == {2, 4}


def test_a_random_number_of_zero_draws_the_first_row_with_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Random numbers include exactly zero and the largest number below one."""
    levels = torch.tensor([[0.0, 1 - 2.0**-53]], dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda *_, **__: levels)
    weights = torch.tensor([[0.0, 0.5, 0.25, 0.25]], dtype=torch.float64)
    assert draw_rows(weights.cumsum(1), 2, seeded()).tolist() == [[1, 3]]


def test_small_weights_among_many_rows_keep_their_share() -> None:
    """Half of the weight is on the last of 200,001 rows.

    Single precision would lose part of the others.
    """
    weights = torch.full((1, 200_001), 0.5 / 200_000, dtype=torch.float64)
    weights[0, -1] = 0.5
    rows = draw_rows(weights.cumsum(1), 10_000, seeded())[0]
    assert abs(int((rows == 200_000).sum()) - 5000) < 250  # five standard deviations of 50
    assert (
        abs(float(rows[rows < 200_000].double().mean()) - 100_000)
        < 5 * 200_000 / 12**0.5 / 5000**0.5
    )


# --- Learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("resampled", [True, False])
@pytest.mark.parametrize("squashed", [True, False])
def test_skills_learn_different_actions_in_the_same_states(resampled: bool, squashed: bool) -> None:
    """One skill follows the first trajectory, the other the second.

    This holds for resampling and weighting, with and without tanh.
    """
    problem = crossing()
    options = PolicyConfig(
        **QUICK, resampled=resampled, trajectory_weights=False, squashed=squashed
    )
    network = clone(
        problem, log_of([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]), options, seeded(), lambda _: None
    )
    found = mean_action(network, problem, squashed=squashed)
    expected = ACTION_RANGE * torch.tensor([[-1.0, 1, -1, 1], [1, -1, 1, -1]])
    close(found, expected, rtol=0, atol=0.1)


def test_a_row_stands_for_itself_without_trajectory_weights() -> None:
    """The first row has weight 0.6 and the last 0.4, both with action -0.5.

    The other rows have no effect.
    """
    problem = crossing()
    options = PolicyConfig(**QUICK, trajectory_weights=False)
    network = clone(problem, log_of([[0.6, 0, 0, 0.4]]), options, seeded(), lambda _: None)
    close(mean_action(network, problem), torch.full((1, 4), -ACTION_RANGE), rtol=0, atol=0.05)


@pytest.mark.parametrize("resampled", [True, False])
def test_a_row_stands_for_its_trajectory_with_trajectory_weights(resampled: bool) -> None:
    """The same row weights give the two trajectories weights of 0.6 and 0.4.

    The first state's mean is 0.6 x (-0.5) + 0.4 x 0.5 = -0.1, the second's 0.1: a fifth of the
    range.
    """
    problem = crossing()
    options = PolicyConfig(**(QUICK | {"batch": 512}), trajectory_weights=True, resampled=resampled)
    network = clone(problem, log_of([[0.6, 0, 0, 0.4]]), options, seeded(), lambda _: None)
    expected = 0.2 * ACTION_RANGE * torch.tensor([[-1.0, 1, -1, 1]])
    close(mean_action(network, problem), expected, rtol=0, atol=0.05)


def test_every_row_of_a_long_trajectory_counts_less() -> None:
    """Trajectories of one and three rows of the same state have half of the weight each.

    The mean action is in the middle.
    """
    data = table(np.zeros((4, 1)), np.array([[-1.0], [1.0], [1.0], [1.0]]))
    data = type(data)(**(vars(data) | {"starts": np.array([0, 1])}))
    problem = build(data)
    options = PolicyConfig(**(QUICK | {"batch": 512}), trajectory_weights=True)
    network = clone(problem, log_of([[0.5, 0, 0, 0.5]]), options, seeded(), lambda _: None)
    close(mean_action(network, problem), torch.zeros(1, 4), rtol=0, atol=0.05)


def test_cloning_reports_every_update_and_is_repeatable() -> None:
    """Each of the five updates is reported; the same seed gives the same weights."""
    problem, calls = build(ragged((3, 1, 4))), []
    log_w = equations.log_weights(torch.zeros(2, 8))
    options = PolicyConfig(hidden=8, updates=5, batch=4)
    one, same, other = (
        clone(problem, log_w, options, seeded(seed), calls.append).head for seed in (0, 0, 1)
    )
    assert [[*losses] for losses in calls] == 15 * [["loss/policy"]]
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_the_learning_rate_falls_to_a_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of ten updates has the full rate; each following one has 9.9 % of it less."""
    rates = []
    step = PolicyLearner.resampled_step

    def watched(self: PolicyLearner, rows: Tensor) -> float:
        rates.append(self.optimiser.param_groups[0]["lr"])
        return step(self, rows)

    monkeypatch.setattr(PolicyLearner, "resampled_step", watched)
    options = PolicyConfig(hidden=8, updates=10, batch=4, lr=1.0)
    clone(
        build(ragged((3, 1, 4))),
        equations.log_weights(torch.zeros(2, 8)),
        options,
        seeded(),
        lambda _: None,
    )
    assert rates == pytest.approx([1 - 0.099 * number for number in range(10)])


def test_weights_are_averaged_over_the_last_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half of six updates averaged, the result is the mean after updates 4, 5 and 6."""
    heads = []
    step = PolicyLearner.resampled_step

    def watched(self: PolicyLearner, rows: Tensor) -> float:
        loss = step(self, rows)
        heads.append(self.network.head.detach().clone())
        return loss

    monkeypatch.setattr(PolicyLearner, "resampled_step", watched)
    options = PolicyConfig(hidden=8, updates=6, batch=4, averaged_share=0.5)
    log_w = equations.log_weights(torch.zeros(2, 8))
    found = clone(build(ragged((3, 1, 4))), log_w, options, seeded(), lambda _: None)
    torch.testing.assert_close(found.head.detach(), torch.stack(heads[3:]).mean(0))
    assert not torch.equal(found.head, heads[-1])


def test_noise_makes_cloning_differ() -> None:
    """Noise on the observations changes the learned weights."""
    log_w = equations.log_weights(torch.zeros(2, 8))
    heads = []
    for noise in (0.0, 0.5):
        options = PolicyConfig(hidden=8, updates=3, batch=4, noise=noise)
        heads.append(clone(build(ragged((3, 1, 4))), log_w, options, seeded(), lambda _: None).head)
    assert not torch.equal(*heads)


# --- Losses --------------------------------------------------------------------------------------


def learner(problem: Problem, **changes: object) -> PolicyLearner:
    """Return a learner of two skills."""
    return PolicyLearner(
        problem, 2, PolicyConfig(**({"hidden": 8, "lr": 1e-2} | changes)), seeded()
    )  # type: ignore[arg-type]


def densities(one: PolicyLearner, problem: Problem) -> Tensor:
    """Return the log densities (Z, N) of the data's actions."""
    with torch.no_grad():
        mean, log_std = one.network(problem.states[problem.here]).chunk(2, dim=-1)
        return equations.gaussian_log_prob(mean, log_std.clamp(*LOG_STD_RANGE), problem.actions)


def test_weighted_loss_is_the_mean_of_ratio_times_log_density() -> None:
    """The mean is over skills and rows, with a negative sign."""
    problem = build(ragged((3, 1, 4)))
    one, rows = learner(problem), torch.tensor([5, 0, 2])
    eta = torch.tensor([[1.0, 0.0, 2.0], [0.5, 0.5, 2.0]])
    expected = -(eta * densities(one, problem)[:, rows]).mean()
    assert one.weighted_step(rows, eta) == pytest.approx(float(expected), rel=1e-5)


def test_resampled_loss_is_the_mean_log_density_of_each_skills_own_rows() -> None:
    """Skill 0 has rows 5 and 0, skill 1 rows 2 and 7."""
    problem = build(ragged((3, 1, 4)))
    one, rows = learner(problem), torch.tensor([[5, 0], [2, 7]])
    expected = -densities(one, problem)[torch.tensor([[0, 0], [1, 1]]), rows].mean()
    assert one.resampled_step(rows) == pytest.approx(float(expected), rel=1e-5)


def test_rows_with_ratio_zero_have_no_effect() -> None:
    """There is no gradient: the weights stay the same to the last bit."""
    problem = build(ragged((3, 1, 4)))
    one = learner(problem)
    before = one.network.first.clone()
    one.weighted_step(torch.arange(8), torch.zeros(2, 8))
    assert torch.equal(one.network.first, before)


def with_log_std(log_std: float, *, entropy: bool) -> PolicyLearner:
    """Return a squashed policy of one action with mean zero and a constant deviation."""
    one = learner(crossing(), squashed=True, entropy=entropy)
    with torch.no_grad():
        one.network.head.zero_()
        one.network.head_bias.copy_(torch.tensor([0.0, log_std]))
    return one


@pytest.mark.parametrize(("log_std", "direction"), [(-4.0, 1), (-2.8, 1), (-2.0, -1), (0.0, -1)])
def test_weight_of_entropy_rises_while_entropy_is_below_minus_the_actions(
    log_std: float, direction: int
) -> None:
    """A narrow tanh Gaussian has entropy log std + log(2 pi e) / 2 = log std + 1.42.

    This is -1 at a log std of -2.42.
    """
    one = with_log_std(log_std, entropy=True)
    one.weighted_step(torch.arange(4).repeat(200), torch.zeros(2, 800))
    temperature = float(one.state_dict()["log_temperature"])
    assert temperature == pytest.approx(
        direction * 1e-2, rel=1e-3
    )  # the first Adam step is the learning rate


@pytest.mark.parametrize("entropy", [True, False])
def test_entropy_widens_a_policy_without_data_to_clone(entropy: bool) -> None:
    """With ratios of zero, only the entropy term has a gradient.

    The deviation grows with the term and stays constant without it.
    """
    one = with_log_std(-3.0, entropy=entropy)
    for _ in range(10):
        one.weighted_step(torch.arange(4), torch.zeros(2, 4))
    change = float(one.network.head_bias.detach()[1]) + 3
    assert change == pytest.approx(0.1 if entropy else 0.0, rel=0.2)


def test_a_learner_continues_as_if_it_had_never_stopped() -> None:
    """The state of one learner is loaded into another.

    Their next steps are equal, with noise from generators of equal state.
    """
    problem = build(ragged((3, 1, 4)))
    options = {"squashed": True, "entropy": True}
    one, rows, eta = (
        learner(problem, **options),
        torch.arange(8),
        torch.rand(2, 8, generator=seeded(5)),
    )
    for _ in range(3):
        one.weighted_step(rows, eta)
    generator = seeded(7)
    other = PolicyLearner(problem, 2, PolicyConfig(hidden=8, lr=1e-2, **options), generator)
    other.load_state_dict(deepcopy(one.state_dict()))  # as a file would store it
    generator.set_state(one._generator.get_state())
    losses = [[each.weighted_step(rows, eta) for _ in range(3)] for each in (one, other)]
    assert losses[0] == losses[1]
    assert torch.equal(one.network.head, other.network.head)
