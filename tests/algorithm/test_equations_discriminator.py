"""Losses of classifier and discriminator against hand-computed numbers, and their minimisers."""

from __future__ import annotations

from math import log

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from solo_doi.algorithm import equations

from .arithmetic import close, gradient, log_of, minimised, tensor
from .small import seeded


def test_classifier_loss_by_hand() -> None:
    """Logits of log 3: -log(3/4) for the expert and -log(1/4) for the data."""
    close(equations.classifier_loss(log_of(3), log_of(3)), tensor(log(4 / 3) + log(4))[0])


def test_a_sure_classifier_has_a_finite_loss() -> None:
    """Wrong logits of +-1000 cost 1000 each; no logarithm of zero occurs."""
    close(
        equations.classifier_loss(torch.tensor([-1000.0]), torch.tensor([1000.0])),
        torch.tensor(2000.0),
    )


def test_best_classifier_is_the_log_ratio_of_the_distributions() -> None:
    """Expert 1/2, 1/4, 1/4; data 1/4, 1/4, 1/2.

    The gradient vanishes at log 2, 0, -log 2, and descent converges there.
    """
    expert, offline = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 2, 2])

    def loss(logit: Tensor) -> Tensor:
        return equations.classifier_loss(logit[expert], logit[offline])

    best = log_of(2, 1, 0.5)
    close(gradient(loss, best), tensor(0, 0, 0))
    close(minimised(loss, tensor(-1, 2, 1)), best, rtol=0, atol=1e-6)


def test_gradient_penalty_by_hand() -> None:
    """Gradients of lengths 5 and 1 give (16 + 0) / 2."""
    close(equations.gradient_penalty(torch.tensor([[3.0, 4.0], [0.0, -1.0]])), torch.tensor(8.0))


def test_discriminator_loss_by_hand() -> None:
    """Two skills and two states give -(2 log 0.5 + 2 log 0.75) / 4.

    A second member with certain and correct predictions halves the loss.
    """
    eta = torch.stack([tensor(2, 0), tensor(0, 2)])
    one = torch.stack([log_of(0.5, 0.25), log_of(0.5, 0.75)])
    expected = -(2 * log(0.5) + 2 * log(0.75)) / 4
    close(equations.discriminator_loss(one[None], eta), tensor(expected)[0])
    right = torch.stack([tensor(0, -30), tensor(-30, 0)])
    close(equations.discriminator_loss(torch.stack([one, right]), eta), tensor(expected / 2)[0])


def test_best_discriminator_is_the_share_of_each_skill() -> None:
    """Descent from any start leads to q(z|s) = eta_z over the sum of all, for every member."""
    eta = torch.rand(3, 4, generator=seeded(0), dtype=torch.float64) + 0.1

    def loss(logits: Tensor) -> Tensor:
        return equations.discriminator_loss(torch.log_softmax(logits, dim=1), eta)

    start = torch.randn(2, 3, 4, generator=seeded(1), dtype=torch.float64)
    found = torch.softmax(minimised(loss, start), dim=1)
    close(found, (eta / eta.sum(0)).expand(2, 3, 4), rtol=0, atol=1e-5)


def test_members_are_averaged_as_probabilities() -> None:
    """Probabilities 0.2 and 0.6 average to 0.4 (arithmetic, not geometric mean)."""
    members = torch.stack([log_of(0.2, 0.8), log_of(0.6, 0.4)])[..., None]
    close(equations.ensemble_log_prob(members), log_of(0.4, 0.6)[:, None])


def test_entropy_by_hand() -> None:
    """The entropy is over skills, per state: for 1/4 and 3/4, and for the uniform distribution."""
    found = equations.entropy(torch.stack([log_of(0.25, 0.5), log_of(0.75, 0.5)]))
    close(found, tensor(-0.25 * log(0.25) - 0.75 * log(0.75), log(2)))


def test_disdain_bonus_by_hand() -> None:
    """Members with 0.9 and 0.1 for two skills give log 2 minus the entropy of 0.9."""
    members = torch.stack([log_of(0.9, 0.1), log_of(0.1, 0.9)])[..., None]
    close(equations.disdain_bonus(members), tensor(log(2) + 0.9 * log(0.9) + 0.1 * log(0.1)))


@given(st.integers(0, 10_000), st.floats(0, 50))
def test_disdain_bonus_lies_between_zero_and_log_z(seed: int, spread: float) -> None:
    """The bounds hold for members that agree and for members that contradict each other."""
    members = torch.log_softmax(
        spread * torch.randn(5, 4, 8, generator=seeded(seed), dtype=torch.float64), dim=1
    )
    bonus = equations.disdain_bonus(members)
    assert bonus.min() >= -1e-9
    assert bonus.max() <= log(4) + 1e-9
    close(equations.disdain_bonus(members[:1].expand(5, 4, 8)), torch.zeros(8, dtype=torch.float64))


def test_disdain_bonus_is_largest_if_each_member_is_sure_of_another_skill() -> None:
    """Four members and four skills give log 4."""
    members = torch.log_softmax(60 * torch.eye(4, dtype=torch.float64), dim=1)[..., None]
    close(equations.disdain_bonus(members), tensor(log(4)))
