"""Bounded multipliers: direction, bounds and fixed values."""

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
    """Return the multipliers of two skills with eps 2 nats and a learning rate of 0.1."""
    settings = {"eps": 2.0, "skills": 2, "multiplier": MultiplierConfig(lr=0.1)}
    return Multipliers(TrainConfig(**(settings | changes)), CPU)  # type: ignore[arg-type]


def test_all_skills_start_alike() -> None:
    """sigma(0) = 1/2; sigma(log 3) = 3/4."""
    close(multipliers().sigma(), torch.tensor([0.5, 0.5]))
    close(
        multipliers(multiplier=MultiplierConfig(initial=log(3))).sigma(), torch.tensor([0.75, 0.75])
    )


def test_a_step_goes_up_where_a_skill_strays_and_down_where_it_does_not() -> None:
    """phi is 5 and 1, eps is 2.

    The first step of Adam equals the learning rate, in double and single precision.
    """
    found = multipliers()
    found.step(torch.tensor([5.0, 1.0], dtype=torch.float64))
    close(found.mu.detach(), torch.tensor([0.1, -0.1]), rtol=1e-4, atol=0)


@pytest.mark.parametrize(
    ("left", "share"), [(1.0, 1.0), (0.5, 0.5), (0.05, 0.05), (0.0, SMALLEST_STEP)]
)
def test_steps_become_smaller_towards_the_end(left: float, share: float) -> None:
    """The step is proportional to the remaining hold, with a lower bound.

    A following step without hold has full size.
    """
    found = multipliers()
    found.step(torch.tensor([5.0, 1.0]), left)
    close(found.mu.detach(), share * torch.tensor([0.1, -0.1]), rtol=1e-4, atol=0)
    found.step(torch.tensor([5.0, 1.0]))
    close(found.mu.detach(), (share + 1) * torch.tensor([0.1, -0.1]), rtol=1e-2, atol=0)


def test_a_violation_that_shrinks_a_hundredfold_still_moves_its_multiplier() -> None:
    """phi is 10 above eps for 100 steps, then 0.1 below it for 200 steps.

    The learning rate is 0.05, and the bound of 1 is reached first. Steps are then 0.05 x 0.01 /
    sqrt(0.9^k) and have full size after k = 90, so the multiplier falls by more than 1. With Adam's
    usual 0.999, each step would be 0.05 x 0.01 x 1.1, which sums to 0.1.
    """
    found = multipliers(multiplier=MultiplierConfig(lr=0.05, bound=1.0))
    for phi in [12.0] * 100 + [1.9] * 200:
        found.step(torch.tensor([phi, 2.0]))
    assert float(found.mu.detach()[0]) < 0


def test_a_constraint_that_is_met_exactly_moves_nothing() -> None:
    """phi equals eps, 2 nats."""
    found = multipliers()
    found.step(torch.tensor([2.0, 2.0]))
    close(found.mu.detach(), torch.zeros(2), rtol=0, atol=0)


def test_skills_do_not_move_each_others_multiplier() -> None:
    """The second multiplier moves in the same way whether the first skill violates eps or not."""
    one, other = multipliers(), multipliers()
    for _ in range(5):
        one.step(torch.tensor([50.0, 1.0]))
        other.step(torch.tensor([2.0, 1.0]))
    close(one.mu.detach()[1], other.mu.detach()[1])


def test_multipliers_stay_in_their_bounds_and_come_back() -> None:
    """The bound is 0.3, the learning rate 0.1.

    Multipliers reach the bound, and the opposite one after the violations change their signs. At
    0.3 the gradient has not vanished; Adam's memory delays the turn by a few steps.
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
    """They do not move for any violation."""
    found = multipliers(multipliers=f"fixed:{sigma}")
    found.step(torch.tensor([50.0, 0.0]))
    close(found.sigma(), torch.full((2,), sigma))
    close(found.mu.detach(), torch.zeros(2), rtol=0, atol=0)


def test_sigma_has_no_gradient() -> None:
    """Values are trained with sigma as a constant."""
    assert not multipliers().sigma().requires_grad


def linear(sigma: torch.Tensor) -> torch.Tensor:
    """Return divergences that fall from 4 and 8 nats to 0 as sigma rises to one."""
    return torch.tensor([4.0, 8.0]) * (1 - sigma)


def test_the_solution_has_a_divergence_of_epsilon() -> None:
    """4 (1 - sigma) = 2 at sigma 1/2, 8 (1 - sigma) = 2 at 3/4; mu is 0 and log 3."""
    found = multipliers()
    found.solve(linear, share=1.0)
    close(found.sigma(), torch.tensor([0.5, 0.75]))
    close(found.mu.detach(), torch.tensor([0.0, log(3)]), rtol=0, atol=1e-4)


def test_a_share_of_the_way_to_the_solution_is_made() -> None:
    """The multipliers move from mu 2 by a quarter of the way to 0 and to log 3."""
    found = multipliers(multiplier=MultiplierConfig(initial=2.0))
    found.solve(linear, share=0.25)
    close(found.mu.detach(), torch.tensor([1.5, 1.5 + log(3) / 4]), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("phi", "mu"), [(1.0, -3.0), (5.0, 3.0)])
def test_without_a_solution_multipliers_go_to_their_bound(phi: float, mu: float) -> None:
    """Divergences of 1 are below eps 2 for any sigma, divergences of 5 above it."""
    found = multipliers(multiplier=MultiplierConfig(bound=3.0))
    found.solve(lambda sigma: torch.full_like(sigma, phi), share=1.0)
    close(found.mu.detach(), torch.full((2,), mu), rtol=0, atol=1e-4)


def test_fixed_multipliers_are_not_solved_for() -> None:
    found = multipliers(multipliers="fixed:0.25")
    found.solve(linear, share=1.0)
    close(found.sigma(), torch.full((2,), 0.25))
