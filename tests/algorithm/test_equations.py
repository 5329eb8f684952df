"""The paper's equations against arithmetic written out, and what must hold of them for any numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, pi

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from solo_doi.algorithm import equations

from .small import seeded

close = torch.testing.assert_close
HALF_LOG_TWO_PI = 0.5 * log(2 * pi)


def tensor(*numbers: float) -> Tensor:
    """Numbers in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def log_of(*numbers: float) -> Tensor:
    """Logarithms in double precision."""
    return tensor(*numbers).log()


def minimised(loss: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """Where a loss ends up when its own gradient is followed."""
    x = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS(
        [x], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-16, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss(x)
        value.backward()
        return value

    optimiser.step(closure)
    return x.detach()


def gradient(loss: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Gradient of a loss at a point."""
    x = at.clone().requires_grad_()
    (result,) = torch.autograd.grad(loss(x), x)
    return result


numbers = st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=20)
tame = st.lists(st.floats(-30, 30), min_size=2, max_size=20)


# --- Values and ratios ---------------------------------------------------------------------------


def test_log_mean_exp_by_hand() -> None:
    """The mean of 1 and 3 is 2; with probabilities 1/4 and 3/4 it is 2.5."""
    x = log_of(1, 3)
    close(equations.log_mean_exp(x), tensor(log(2))[0])
    close(equations.log_mean_exp(x, log_of(0.25, 0.75)), tensor(log(2.5))[0])


def test_log_mean_exp_is_over_the_last_axis() -> None:
    """Skills by samples: one number per skill, here log 2 and log 5."""
    close(equations.log_mean_exp(torch.stack([log_of(1, 3), log_of(2, 8)])), log_of(2, 5))


def test_td_error_by_hand() -> None:
    """1 + 0.5 x 20 - 7 = 4."""
    close(equations.td_error(tensor(1), tensor(7), tensor(20), 0.5), tensor(4))


def test_dual_loss_by_hand() -> None:
    """Half of the mean of 2 and 4, and log((1 + 3) / 2): 1.5 + log 2."""
    loss = equations.dual_loss(tensor(2, 4), log_of(1, 3), 0.5)
    close(loss, tensor(1.5 + log(2))[0])


def test_dual_loss_with_exact_expectations_by_hand() -> None:
    """Initial states with 1/4 and 3/4: half of 3.5; ratios with the same: log 2.5."""
    probability = log_of(0.25, 0.75)
    loss = equations.dual_loss(tensor(2, 4), log_of(1, 3), 0.5, probability, probability)
    close(loss, tensor(1.75 + log(2.5))[0])


def test_dual_losses_of_skills_do_not_mix() -> None:
    """(Z, N) in, (Z,) out, each what it is alone."""
    initial, delta = torch.randn(3, 4, generator=seeded(1)), torch.randn(3, 5, generator=seeded(2))
    together = equations.dual_loss(initial, delta, 0.9)
    close(together, torch.stack([equations.dual_loss(initial[z], delta[z], 0.9) for z in range(3)]))


def test_gradient_of_the_dual_loss_is_the_flow_that_is_missing() -> None:
    """One state that leads to itself, V: (1 - gamma) + (gamma - 1) = 0, whatever the reward."""

    def loss(value: Tensor) -> Tensor:
        return equations.dual_loss(value, equations.td_error(tensor(3.0), value, value, 0.9), 0.9)

    close(gradient(loss, tensor(5.0)), tensor(0.0))


def test_log_ratios_by_hand() -> None:
    """1 and 3 over their mean 2; with probabilities 1/4 and 3/4 over 2.5."""
    close(equations.log_ratios(log_of(1, 3)), log_of(0.5, 1.5))
    close(equations.log_ratios(log_of(1, 3), log_of(0.25, 0.75)), log_of(0.4, 1.2))


def test_log_weights_by_hand() -> None:
    """1 and 3 over their sum 4, in double precision whatever comes in."""
    close(equations.log_weights(torch.tensor([1.0, 3.0]).log()), log_of(0.25, 0.75), rtol=1e-6, atol=0)
    assert equations.log_weights(torch.zeros(2)).dtype == torch.float64


@given(numbers)
def test_nothing_overflows(delta: list[float]) -> None:
    """Temporal differences of +-10,000: loss, ratios, divergence and gradient are numbers."""
    x = torch.tensor([delta, delta[::-1]], requires_grad=True)
    loss = equations.dual_loss(torch.zeros(2, 3), x, 0.99).sum()
    (slope,) = torch.autograd.grad(loss, x)
    log_w = equations.log_weights(x.detach())
    results = (
        loss, slope, equations.log_ratios(x), log_w, equations.kl_estimate(log_w, log_w.flip(0)),
        equations.effective_samples(log_w), equations.ratio_distance(log_w),
    )  # fmt: skip
    assert all(torch.isfinite(result).all() for result in results)


@given(tame)
def test_ratios_have_mean_one_and_weights_sum_one(delta: list[float]) -> None:
    """They are densities with respect to the data."""
    x = tensor(*delta)
    close(equations.log_ratios(x).exp().mean(), tensor(1)[0])
    close(equations.log_weights(equations.log_ratios(x)).exp().sum(), tensor(1)[0])


@given(tame, st.floats(-1e3, 1e3))
def test_a_constant_reward_changes_no_ratio(delta: list[float], shift: float) -> None:
    """It moves the loss by itself, and nothing else."""
    x = tensor(*delta)
    close(equations.log_ratios(x + shift), equations.log_ratios(x), rtol=0, atol=1e-9)
    close(equations.log_weights(x + shift), equations.log_weights(x), rtol=0, atol=1e-9)
    close(equations.log_mean_exp(x + shift), equations.log_mean_exp(x) + shift, rtol=0, atol=1e-9)


@given(tame)
def test_ratios_maximise_what_the_dual_stands_for(reward: list[float]) -> None:
    """max over d of E_d[R] - KL(d || d_O) is log E_dO[exp R], reached by the ratios: Fenchel's equality."""
    x = tensor(*reward)
    log_eta = equations.log_ratios(x)
    weights = log_eta.exp() / len(x)
    reached = (weights * (x - log_eta)).sum()
    close(reached, equations.log_mean_exp(x), rtol=1e-9, atol=1e-9)
    other = torch.full_like(x, 1 / len(x))  # the data themselves
    assert (other * x).sum() <= reached + 1e-9


# --- Divergence and multipliers ------------------------------------------------------------------


def test_kl_estimate_by_hand() -> None:
    """Weights 1/4, 3/4 against 1/2, 1/2: log(1/2) / 4 + 3 log(3/2) / 4."""
    found = equations.kl_estimate(log_of(0.25, 0.75), log_of(0.5, 0.5))
    close(found, tensor(0.25 * log(0.5) + 0.75 * log(1.5))[0])


def test_kl_estimate_of_a_single_row_is_what_it_costs_the_expert() -> None:
    """All weight on the second row, which the expert gives 1/8: log 8. The others' logarithm is just very small."""
    skill = equations.log_weights(tensor(-1000, 0, -1000))
    close(equations.kl_estimate(skill, log_of(0.5, 0.125, 0.375)), tensor(log(8))[0])


@given(st.integers(2, 12), st.integers(0, 10_000))
def test_kl_estimate_is_never_negative_and_zero_for_equal_weights(rows: int, seed: int) -> None:
    """Gibbs' inequality, for weights over many orders of magnitude."""
    log_w = equations.log_weights(10 * torch.randn(2, rows, generator=seeded(seed)))
    assert equations.kl_estimate(log_w[0], log_w[1]) > 0
    assert equations.kl_estimate(log_w[0], log_w[0]) == 0


def test_multiplier_loss_by_hand() -> None:
    """sigma(0) = 1/2 and sigma(log 3) = 3/4: (2 - 3) / 2 + 3 (2 - 1) / 4 = 0.25."""
    close(equations.multiplier_loss(tensor(0, log(3)), tensor(3, 1), 2.0), tensor(0.25)[0])


def test_a_violated_constraint_raises_its_multiplier() -> None:
    """Gradient sigma (1 - sigma) (eps - phi): -1/4 where phi is 3, above eps 2, and 1/4 where it is 1; descent."""
    slope = gradient(lambda mu: equations.multiplier_loss(mu, tensor(3, 1), 2.0), tensor(0, 0))
    close(slope, tensor(-0.25, 0.25))


# --- Rewards -------------------------------------------------------------------------------------


def test_diversity_term_by_hand() -> None:
    """q of 1/2 among four skills: log(2) / 4; chance is worth nothing; log q of -100 counts as the floor, -20."""
    found = equations.diversity_term(tensor(log(0.5), log(0.25), -100.0), 4)
    close(found, tensor(log(2) / 4, 0.0, (-20 + log(4)) / 4))
    close(equations.diversity_term(tensor(-100.0), 4, floor=-5.0), tensor((-5 + log(4)) / 4))


def test_skill_reward_is_the_printed_combination() -> None:
    """sigma 1/4: 3/4 x 0.4 + 1/4 x (-2) = -0.2; sigma 1/2: 1/2 x 0.6 + 1/2 x (-2) = -0.7."""
    found = equations.skill_reward(tensor(0.4, 0.6)[:, None], tensor(-2), tensor(0.25, 0.5))
    close(found, tensor(-0.2, -0.7)[:, None])


def test_skill_reward_without_the_datas_pull_is_the_lagrangian() -> None:
    """Weight 3, sigma 1/4: 3 x 0.4 x (3/4) / (1/4) - 2 = 1.6."""
    close(equations.skill_reward(tensor(0.4)[None], tensor(-2), tensor(0.25), 3.0, 0.0), tensor(1.6)[None])


def test_skill_reward_between_the_two() -> None:
    """Weight 2, pull 1/2, sigma 1/4: (2 x 3/4 x 0.4 - 2/4) / (1/4 + 3/8) = 0.1 / 0.625."""
    close(equations.skill_reward(tensor(0.4)[None], tensor(-2), tensor(0.25), 2.0, 0.5), tensor(0.16)[None])


@pytest.mark.parametrize("pull", [0.0, 0.3, 1.0])
def test_full_multiplier_is_imitation_alone(pull: float) -> None:
    """sigma of 1: log eta_E, whatever the weight of diversity."""
    log_eta = torch.randn(6, generator=seeded(0))
    found = equations.skill_reward(torch.randn(2, 6, generator=seeded(1)), log_eta, torch.ones(2), 25.0, pull)
    close(found, log_eta.expand(2, 6))


def test_terms_shared_by_all_skills_are_spread_over_them() -> None:
    """(N,) is as good as (Z, N) with equal rows, for either term."""
    diversity, log_eta = torch.randn(5, generator=seeded(0)), torch.randn(5, generator=seeded(1))
    sigma = torch.tensor([0.2, 0.9])
    close(
        equations.skill_reward(diversity, log_eta, sigma, 3.0, 0.5),
        equations.skill_reward(diversity.expand(2, 5), log_eta.expand(2, 5), sigma, 3.0, 0.5),
    )


@given(st.integers(0, 10_000), st.floats(0.05, 1), st.floats(0, 1), st.floats(0.1, 30))
def test_what_a_skill_maximises(seed: int, sigma: float, pull: float, weight: float) -> None:
    """E[R] - KL(d || d_O), times the temperature, is the sum of diversity and two divergences of the docstring."""
    skill, expert, data = torch.softmax(torch.randn(3, 7, generator=seeded(seed), dtype=torch.float64), dim=1)
    diversity = torch.randn(7, generator=seeded(seed + 1), dtype=torch.float64)

    def divergence(one: Tensor, other: Tensor) -> Tensor:
        return (one * (one / other).log()).sum()

    reward = equations.skill_reward(diversity, (expert / data).log(), tensor(sigma), weight, pull)[0]
    maximised = (skill * reward).sum() - divergence(skill, data)
    expected = (
        weight * (1 - sigma) * (skill * diversity).sum()
        - sigma * divergence(skill, expert)
        - pull * (1 - sigma) * divergence(skill, data)
    )
    close((sigma + pull * (1 - sigma)) * maximised, expected, rtol=1e-9, atol=1e-9)


def test_separation_exponent_by_hand() -> None:
    """Five skills, weight 10, sigma 1/5: 10 x 0.8 / 5 = 1.6; without pull over 1/5: 8; with half of it over 0.6."""
    sigma = tensor(0.2)
    close(equations.separation_exponent(sigma, 5, 10.0, 1.0), tensor(1.6))
    close(equations.separation_exponent(sigma, 5, 10.0, 0.0), tensor(8.0))
    close(equations.separation_exponent(sigma, 5, 10.0, 0.5), tensor(8 / 3))


@pytest.mark.parametrize(("weight", "pull"), [(1.0, 1.0), (10.0, 1.0), (5.0, 0.3)])
def test_separation_exponent_is_what_a_round_does_to_log_odds(weight: float, pull: float) -> None:
    """Reward, ratios without values, best discriminator: log-odds between states are multiplied by the exponent."""
    sigma = torch.full((3,), 0.4, dtype=torch.float64)
    log_q = torch.log_softmax(torch.randn(3, 6, generator=seeded(0), dtype=torch.float64), dim=0)
    log_eta_expert = equations.log_ratios(torch.randn(6, generator=seeded(1), dtype=torch.float64))
    reward = equations.skill_reward(equations.diversity_term(log_q, 3), log_eta_expert, sigma, weight, pull)
    after = torch.log_softmax(equations.log_ratios(reward), dim=0)  # eta_z over the sum of all

    def odds(log_q: Tensor) -> Tensor:
        """Of skill 0 against the others, compared with the first state."""
        log_odds = log_q[0] - log_q[1:]
        return log_odds - log_odds[:, :1]

    exponent = equations.separation_exponent(sigma, 3, weight, pull)[0]
    close(odds(after), exponent * odds(log_q))


def test_unconstrained_reward_by_hand() -> None:
    """2 + 0.5 x 0.4."""
    close(equations.unconstrained_reward(tensor(0.4), tensor(2), 0.5), tensor(2.2))


# --- Classifier and discriminator ----------------------------------------------------------------


def test_classifier_loss_by_hand() -> None:
    """Logits of log 3: -log(3/4) for the expert and -log(1/4) for the data."""
    close(equations.classifier_loss(log_of(3), log_of(3)), tensor(log(4 / 3) + log(4))[0])


def test_a_sure_classifier_has_a_finite_loss() -> None:
    """Logits of +-1000 wrong way round: 1000 each, no logarithm of zero."""
    close(equations.classifier_loss(torch.tensor([-1000.0]), torch.tensor([1000.0])), torch.tensor(2000.0))


def test_best_classifier_is_the_log_ratio_of_the_distributions() -> None:
    """Expert 1/2, 1/4, 1/4; data 1/4, 1/4, 1/2: the gradient vanishes at log 2, 0, -log 2 and leads there."""
    expert, offline = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 2, 2])

    def loss(logit: Tensor) -> Tensor:
        return equations.classifier_loss(logit[expert], logit[offline])

    best = log_of(2, 1, 0.5)
    close(gradient(loss, best), tensor(0, 0, 0))
    close(minimised(loss, tensor(-1, 2, 1)), best, rtol=0, atol=1e-6)


def test_gradient_penalty_by_hand() -> None:
    """Lengths 5 and 1: (16 + 0) / 2."""
    close(equations.gradient_penalty(torch.tensor([[3.0, 4.0], [0.0, -1.0]])), torch.tensor(8.0))


def test_discriminator_loss_by_hand() -> None:
    """Two skills and states: -(2 log 0.5 + 2 log 0.75) / 4; a second member, sure and right, halves it."""
    eta = torch.stack([tensor(2, 0), tensor(0, 2)])
    one = torch.stack([log_of(0.5, 0.25), log_of(0.5, 0.75)])
    expected = -(2 * log(0.5) + 2 * log(0.75)) / 4
    close(equations.discriminator_loss(one[None], eta), tensor(expected)[0])
    right = torch.stack([tensor(0, -30), tensor(-30, 0)])
    close(equations.discriminator_loss(torch.stack([one, right]), eta), tensor(expected / 2)[0])


def test_best_discriminator_is_the_share_of_each_skill() -> None:
    """Following its gradient from anywhere, q(z|s) becomes eta_z over the sum of all, for every member."""
    eta = torch.rand(3, 4, generator=seeded(0), dtype=torch.float64) + 0.1

    def loss(logits: Tensor) -> Tensor:
        return equations.discriminator_loss(torch.log_softmax(logits, dim=1), eta)

    start = torch.randn(2, 3, 4, generator=seeded(1), dtype=torch.float64)
    found = torch.softmax(minimised(loss, start), dim=1)
    close(found, (eta / eta.sum(0)).expand(2, 3, 4), rtol=0, atol=1e-5)


def test_members_are_averaged_as_probabilities() -> None:
    """0.2 and 0.6 make 0.4, not the geometric mean; the other skill has the rest."""
    members = torch.stack([log_of(0.2, 0.8), log_of(0.6, 0.4)])[..., None]
    close(equations.ensemble_log_prob(members), log_of(0.4, 0.6)[:, None])


def test_entropy_by_hand() -> None:
    """Over skills, state by state: 1/4 and 3/4, and as even as can be."""
    found = equations.entropy(torch.stack([log_of(0.25, 0.5), log_of(0.75, 0.5)]))
    close(found, tensor(-0.25 * log(0.25) - 0.75 * log(0.75), log(2)))


def test_disdain_bonus_by_hand() -> None:
    """Members 0.9 and 0.1 of two skills: log 2 less the entropy of 0.9."""
    members = torch.stack([log_of(0.9, 0.1), log_of(0.1, 0.9)])[..., None]
    close(equations.disdain_bonus(members), tensor(log(2) + 0.9 * log(0.9) + 0.1 * log(0.1)))


@given(st.integers(0, 10_000), st.floats(0, 50))
def test_disdain_bonus_lies_between_nothing_and_log_z(seed: int, spread: float) -> None:
    """For members that agree or contradict each other."""
    members = torch.log_softmax(spread * torch.randn(5, 4, 8, generator=seeded(seed), dtype=torch.float64), dim=1)
    bonus = equations.disdain_bonus(members)
    assert bonus.min() >= -1e-9
    assert bonus.max() <= log(4) + 1e-9
    close(equations.disdain_bonus(members[:1].expand(5, 4, 8)), torch.zeros(8, dtype=torch.float64))


def test_disdain_bonus_is_largest_if_each_member_is_sure_of_another_skill() -> None:
    """Four members, four skills: log 4."""
    members = torch.log_softmax(60 * torch.eye(4, dtype=torch.float64), dim=1)[..., None]
    close(equations.disdain_bonus(members), tensor(log(4)))


# --- Distances -----------------------------------------------------------------------------------


def test_ratio_distances_by_hand() -> None:
    """1/2, 1/2, 0 from 1/4, 3/4, 0: 1/2. From the third row alone: 2. Rows are skills, others in order."""
    skills = equations.log_weights(log_of(2, 2, 1e-300)), log_of(0.25, 0.75, 1e-300), log_of(1e-300, 1e-300, 1)
    found = equations.ratio_distances(torch.stack(skills))
    close(found, torch.stack([tensor(0.5, 2), tensor(0.5, 2), tensor(2, 2)]))
    close(equations.ratio_distance(torch.stack(skills)), tensor(1.5)[0])


def test_ratio_distance_of_equal_skills_is_zero() -> None:
    """All of them collapsed into one."""
    log_w = equations.log_weights(torch.randn(9, generator=seeded(0)))
    assert equations.ratio_distance(log_w.expand(3, 9)) == 0


@given(st.integers(2, 4), st.integers(1, 12), st.integers(0, 10_000), st.floats(0, 1e4))
def test_ratio_distances_lie_between_zero_and_two(skills: int, rows: int, seed: int, spread: float) -> None:
    """From weights all alike to one row each."""
    log_w = equations.log_weights(spread * torch.randn(skills, rows, generator=seeded(seed)))
    found = equations.ratio_distances(log_w)
    assert found.shape == (skills, skills - 1)
    assert found.min() >= 0
    assert found.max() <= 2 + 1e-12


FEATURES = torch.tensor([[0.0, 0.0], [3.0, 4.0], [10.0, 10.0]])


def test_nearest_by_hand() -> None:
    """The first two are 5 apart, the third is sqrt(49 + 36) from the second and further from the first."""
    difference, distance = equations.nearest(FEATURES)
    close(difference, torch.tensor([[-3.0, -4.0], [3.0, 4.0], [7.0, 6.0]]))
    close(distance, torch.tensor([5.0, 5.0, 85**0.5]))


def test_successor_reward_by_hand() -> None:
    """Feature (1, 2) along (-0.6, -0.8): -2.2, times strength 2; along (0.6, 0.8): 2.2; along (7, 6) / sqrt 85: 19."""
    found = equations.successor_reward(torch.tensor([[1.0, 2.0]]), FEATURES, torch.tensor([2.0, 1.0, 1.0]))
    close(found, torch.tensor([[-4.4], [2.2], [19 / 85**0.5]]))


def test_successor_reward_of_skills_in_one_place_is_zero() -> None:
    """There is no direction to go: no number divided by zero."""
    found = equations.successor_reward(torch.ones(4, 2), torch.ones(3, 2), torch.ones(3))
    close(found, torch.zeros(3, 4))


def test_van_der_waals_by_hand() -> None:
    """1 in one place, 1 - 1/8 half way, nothing at the reach, 1 - 8 at twice: attraction."""
    close(equations.van_der_waals(torch.tensor([0.0, 1.5, 3.0, 6.0]), 3.0), torch.tensor([1.0, 0.875, 0.0, -7.0]))


def test_effective_samples_by_hand() -> None:
    """Even weights count all, 1/2 and 1/4 twice: 1 / (1/4 + 1/8), one row alone 1."""
    close(equations.effective_samples(log_of(0.25, 0.25, 0.25, 0.25)), tensor(4)[0])
    close(equations.effective_samples(log_of(0.5, 0.25, 0.25)), tensor(8 / 3)[0])
    close(equations.effective_samples(tensor(0, -1000, -1000)), tensor(1)[0])


@given(numbers)
def test_effective_samples_lie_between_one_and_all(delta: list[float]) -> None:
    """For weights of any concentration."""
    found = equations.effective_samples(equations.log_weights(torch.tensor(delta)))
    assert 1 - 1e-9 <= found <= len(delta) + 1e-9


def test_truncated_by_hand() -> None:
    """Seven tenths of 1 to 10, shuffled: what is above 7 becomes 7, the rest stays."""
    x = tensor(10, 1, 9, 2, 8, 3, 7, 4, 6, 5)
    close(equations.truncated(x, 0.7), tensor(7, 1, 7, 2, 7, 3, 7, 4, 6, 5))
    close(equations.truncated(x, 1.0), x, rtol=0, atol=0)
    close(equations.truncated(x, 0.0), torch.ones_like(x))


def test_truncation_is_of_each_skill_by_itself() -> None:
    """A skill of large ratios does not cap another."""
    x = torch.stack([tensor(1, 2, 3, 4), tensor(100, 200, 300, 400)])
    close(equations.truncated(x, 0.5), torch.stack([tensor(1, 2, 2, 2), tensor(100, 200, 200, 200)]))


# --- Chi-square ----------------------------------------------------------------------------------


@given(st.floats(-5, 5))
def test_conjugate_is_the_largest_gap_below_the_divergence(y: float) -> None:
    """f*(y) = max over x of x y - (x - 1)^2 / 2, on a fine grid of x; the maximum is at y + 1."""
    x = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    gap = x * y - 0.5 * (x - 1).square()
    close(equations.chi_square_conjugate(tensor(y))[0], gap.max(), rtol=0, atol=1e-6)
    assert abs(float(x[gap.argmax()]) - (y + 1)) <= 1e-3


def test_chi_square_loss_by_hand() -> None:
    """Half of the mean of 2 and 4; f* of 1 and -1 are 1.5 and -0.5, on average 0.5."""
    close(equations.chi_square_loss(tensor(2, 4), tensor(1, -1), 0.5), tensor(2)[0])


def test_chi_square_ratios_by_hand() -> None:
    """The slope of f*, delta + 1, where it is positive: 2, 1/2, and nothing below -1."""
    found = equations.chi_square_log_ratios(torch.tensor([1.0, -0.5, -3.0, -1e4, 1e4]))
    expected = log_of(2, 0.5, equations.SMALLEST_RATIO, equations.SMALLEST_RATIO, 10_001)
    close(found, expected.float())


# --- Policies ------------------------------------------------------------------------------------


def test_gaussian_log_prob_by_hand() -> None:
    """One and two deviations of 2 and 1 away: -1/2 - log 2 and -2, each less log(2 pi) / 2."""
    found = equations.gaussian_log_prob(tensor(1, 0), log_of(2, 1), tensor(3, -2))
    close(found, tensor(-0.5 - log(2) - 2 - 2 * HALF_LOG_TWO_PI)[0])


def test_tanh_gaussian_log_prob_by_hand() -> None:
    """At zero the tanh has slope one: a Gaussian's. At tanh 1 of mean 1 it is less by log(1 - tanh^2 1)."""
    zero = tensor(0.0)
    close(equations.tanh_gaussian_log_prob(zero, zero, zero), tensor(-HALF_LOG_TWO_PI)[0])
    tanh = (exp(2) - 1) / (exp(2) + 1)
    found = equations.tanh_gaussian_log_prob(tensor(1), zero, tensor(tanh))
    close(found, tensor(-HALF_LOG_TWO_PI - log(1 - tanh**2))[0])


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.3, -0.5), (-1.5, -2.0), (2.0, -1.0)])
def test_tanh_gaussian_integrates_to_one(mean: float, log_std: float) -> None:
    """It is a density over (-1, 1)."""
    action = torch.linspace(-1, 1, 400_001, dtype=torch.float64)[1:-1, None]
    density = equations.tanh_gaussian_log_prob(tensor(mean), tensor(log_std), action).exp()
    close(density.sum() * 2 / 400_000, tensor(1)[0], rtol=0, atol=1e-4)


def test_tanh_gaussian_agrees_with_the_library() -> None:
    """Torch's transformed distribution, summed over three actions; also far out, where 1 - tanh^2 is 1e-9."""
    mean, log_std = (torch.randn(50, 3, generator=seeded(seed), dtype=torch.float64) for seed in (0, 1))
    before = 4 * torch.randn(50, 3, generator=seeded(2), dtype=torch.float64).clamp(-2.5, 2.5)
    transform = TanhTransform(cache_size=1)  # type: ignore[no-untyped-call]
    action = transform(before)
    library = TransformedDistribution(Normal(mean, log_std.exp()), [transform])
    found = equations.tanh_gaussian_log_prob(mean, log_std, action)
    close(found, library.log_prob(action).sum(-1), rtol=1e-6, atol=1e-6)


@given(st.floats(-0.999, 0.999), st.floats(-7.24, 7.24), st.floats(-5, 2))
def test_policy_densities_are_finite_in_single_precision(action: float, mean: float, log_std: float) -> None:
    """For every action the data can have and every output the policy may give, with finite gradients."""
    parameters = torch.tensor([mean, log_std], requires_grad=True)
    for density in (equations.tanh_gaussian_log_prob, equations.gaussian_log_prob):
        found = density(parameters[:1], parameters[1:], torch.tensor([action]))
        (slope,) = torch.autograd.grad(found, parameters)
        assert torch.isfinite(found)
        assert torch.isfinite(slope).all()
