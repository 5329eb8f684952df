"""Bounded multipliers: direction, bounds, and those that do not move."""

from __future__ import annotations

from math import log

import pytest
import torch

from solo_doi.algorithm.multipliers import SMALLEST_STEP, Multipliers
from solo_doi.algorithm.part_configs import MultiplierConfig
from solo_doi.algorithm.train_config import TrainConfig

from .small import CPU

close = torch.testing.assert_close


def multipliers(**changes: object) -> Multipliers:
    """Two skills that may differ from the expert by 2 nats, moved by 0.1."""
    settings = {"eps": 2.0, "skills": 2, "multiplier": MultiplierConfig(lr=0.1)}
    return Multipliers(TrainConfig(**(settings | changes)), CPU)  # type: ignore[arg-type]


def test_all_skills_start_alike() -> None:
    """sigma(0) = 1/2; sigma(log 3) = 3/4."""
    close(multipliers().sigma(), torch.tensor([0.5, 0.5]))
    close(
        multipliers(multiplier=MultiplierConfig(initial=log(3))).sigma(), torch.tensor([0.75, 0.75])
    )


def test_a_step_goes_up_where_a_skill_strays_and_down_where_it_does_not() -> None:
    """phi 5 and 1 against eps 2.

    The first step of Adam is the learning rate, in double precision or single.
    """
    found = multipliers()
    found.step(torch.tensor([5.0, 1.0], dtype=torch.float64))
    close(found.mu.detach(), torch.tensor([0.1, -0.1]), rtol=1e-4, atol=0)


@pytest.mark.parametrize(
    ("left", "share"), [(1.0, 1.0), (0.5, 0.5), (0.05, 0.05), (0.0, SMALLEST_STEP)]
)
def test_steps_become_smaller_towards_the_end(left: float, share: float) -> None:
    """By what is left of the hold, but never nothing; the next step without hold is whole again."""
    found = multipliers()
    found.step(torch.tensor([5.0, 1.0]), left)
    close(found.mu.detach(), share * torch.tensor([0.1, -0.1]), rtol=1e-4, atol=0)
    found.step(torch.tensor([5.0, 1.0]))
    close(found.mu.detach(), (share + 1) * torch.tensor([0.1, -0.1]), rtol=1e-2, atol=0)


def test_a_violation_that_shrinks_a_hundredfold_still_moves_its_multiplier() -> None:
    """A hundred steps with phi 10 above eps, then two hundred with 0.1 below.

    At steps of 0.05 from the bound of 1.

    Steps are 0.05 x 0.01 / sqrt(0.9^k) at first and whole after k = 90: it comes down by more than
    1. With Adam's usual 0.999 they would be 0.05 x 0.01 x 1.1 all the time, 0.1 together.
    """
    found = multipliers(multiplier=MultiplierConfig(lr=0.05, bound=1.0))
    for phi in [12.0] * 100 + [1.9] * 200:
        found.step(torch.tensor([phi, 2.0]))
    assert float(found.mu.detach()[0]) < 0


def test_a_constraint_that_is_met_exactly_moves_nothing() -> None:
    """phi of 2 is what is allowed."""
    found = multipliers()
    found.step(torch.tensor([2.0, 2.0]))
    close(found.mu.detach(), torch.zeros(2), rtol=0, atol=0)


def test_skills_do_not_move_each_others_multiplier() -> None:
    """The second moves as if the first were not violated at all."""
    one, other = multipliers(), multipliers()
    for _ in range(5):
        one.step(torch.tensor([50.0, 1.0]))
        other.step(torch.tensor([2.0, 1.0]))
    close(one.mu.detach()[1], other.mu.detach()[1])


def test_multipliers_stay_in_their_bounds_and_come_back() -> None:
    """Bound 0.3, steps of 0.1: at the bound after many steps, and off it when the constraint turns.

    At a bound of 0.3 the gradient has not vanished; Adam remembers the past for a few steps.
    """
    found = multipliers(multiplier=MultiplierConfig(lr=0.1, bound=0.3))
    for _ in range(20):
        found.step(torch.tensor([5.0, 1.0]))
    close(found.mu.detach(), torch.tensor([0.3, -0.3]))
    for _ in range(30):
        found.step(torch.tensor([1.0, 5.0]))
    close(found.mu.detach(), torch.tensor([-0.3, 0.3]))


@pytest.mark.parametrize("sigma", [0.0, 0.25, 1.0])
def test_fixed_multipliers_never_move(sigma: float) -> None:
    """Whatever the violation."""
    found = multipliers(multipliers=f"fixed:{sigma}")
    found.step(torch.tensor([50.0, 0.0]))
    close(found.sigma(), torch.full((2,), sigma))
    close(found.mu.detach(), torch.zeros(2), rtol=0, atol=0)


def test_sigma_has_no_gradient() -> None:
    """Values are trained with it as a constant."""
    assert not multipliers().sigma().requires_grad
