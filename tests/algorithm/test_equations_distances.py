"""Distances and forces between skills against hand-computed numbers."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.algorithm import equations

from .arithmetic import close, log_of, tensor
from .small import seeded


def test_ratio_distances_by_hand() -> None:
    """Weights 1/2, 1/2, 0 and 1/4, 3/4, 0 have distance 1/2.

    Each has distance 2 from the third row alone. Rows of the result are skills; columns are the
    other skills in order.
    """
    skills = (
        equations.log_weights(log_of(2, 2, 1e-300)),
        log_of(0.25, 0.75, 1e-300),
        log_of(1e-300, 1e-300, 1),
    )
    found = equations.ratio_distances(torch.stack(skills))
    close(found, torch.stack([tensor(0.5, 2), tensor(0.5, 2), tensor(2, 2)]))
    close(equations.ratio_distance(torch.stack(skills)), tensor(1.5)[0])


def test_ratio_distance_of_equal_skills_is_zero() -> None:
    """All skills have the same weights."""
    log_w = equations.log_weights(torch.randn(9, generator=seeded(0)))
    assert equations.ratio_distance(log_w.expand(3, 9)) == 0


@given(st.integers(2, 4), st.integers(1, 12), st.integers(0, 10_000), st.floats(0, 1e4))
def test_ratio_distances_lie_between_zero_and_two(
    skills: int, rows: int, seed: int, spread: float
) -> None:
    """The samples range from equal weights to one row per skill."""
    log_w = equations.log_weights(spread * torch.randn(skills, rows, generator=seeded(seed)))
    found = equations.ratio_distances(log_w)
    assert found.shape == (skills, skills - 1)
    assert found.min() >= 0
    assert found.max() <= 2 + 1e-12


FEATURES = torch.tensor([[0.0, 0.0], [3.0, 4.0], [10.0, 10.0]])


def test_nearest_by_hand() -> None:
    """The first two skills have distance 5.

    The third has distance sqrt(49 + 36) from the second and more from the first.
    """
    difference, distance = equations.nearest(FEATURES)
    close(difference, torch.tensor([[-3.0, -4.0], [3.0, 4.0], [7.0, 6.0]]))
    close(distance, torch.tensor([5.0, 5.0, 85**0.5]))


def test_successor_reward_by_hand() -> None:
    """Feature (1, 2) along (-0.6, -0.8) gives -2.2, times strength 2.

    Along (0.6, 0.8) it gives 2.2. Along (7, 6) / sqrt 85 it gives 19 / sqrt 85.
    """
    found = equations.successor_reward(
        torch.tensor([[1.0, 2.0]]), FEATURES, torch.tensor([2.0, 1.0, 1.0])
    )
    close(found, torch.tensor([[-4.4], [2.2], [19 / 85**0.5]]))


def test_successor_reward_of_skills_in_one_place_is_zero() -> None:
    """Equal features have no direction; the result is zero, without a division by zero."""
    found = equations.successor_reward(torch.ones(4, 2), torch.ones(3, 2), torch.ones(3))
    close(found, torch.zeros(3, 4))


def test_van_der_waals_by_hand() -> None:
    """The force is 1 at zero, 1 - 1/8 at half the reach, 0 at it, 1 - 8 at twice the reach."""
    close(
        equations.van_der_waals(torch.tensor([0.0, 1.5, 3.0, 6.0]), 3.0),
        torch.tensor([1.0, 0.875, 0.0, -7.0]),
    )
