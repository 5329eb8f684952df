"""The trainer's equations against hand-computed numbers."""

from __future__ import annotations

from math import exp, log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from collect.dominic import equations

close = torch.testing.assert_close


# --- Advantages ----------------------------------------------------------------------------------

GAMMA, LAM = 0.5, 0.5


def advantages(fallen: list[float], timed_out: list[float]) -> list[float]:
    """Return the advantages of one robot over three steps.

    Rewards are 1, 2, 3; values 10, 20, 30; next values 20, 30, 40.
    """
    reward, value, after = (
        torch.tensor(numbers).view(3, 1, 1)
        for numbers in ([1.0, 2, 3], [10.0, 20, 30], [20.0, 30, 40])
    )
    terminated = torch.tensor(fallen).view(3, 1)
    ended = torch.maximum(terminated, torch.tensor(timed_out).view(3, 1))
    return (
        equations.advantages(reward, value, after, terminated, ended, GAMMA, LAM).flatten().tolist()
    )


def test_advantages_sum_temporal_differences_backwards() -> None:
    """The differences r + V' / 2 - V are 1, -3, -7.

    Each earlier advantage adds a quarter of the next.
    """
    last = 3 + 20 - 30
    middle = (2 + 15 - 20) + 0.25 * last
    first = (1 + 10 - 10) + 0.25 * middle
    assert advantages([0, 0, 0], [0, 0, 0]) == [first, middle, last]


def test_a_fall_cuts_bootstrap_and_trace() -> None:
    """The value after a fall does not count.

    Delta of the second step is 2 - 20, without a part of the third.
    """
    last, middle = -7.0, 2.0 - 20.0
    assert advantages([0, 1, 0], [0, 0, 0]) == [1 + 0.25 * middle, middle, last]


def test_a_time_out_keeps_the_bootstrap_but_cuts_the_trace() -> None:
    """The robot could have continued, so the next value counts.

    The third step belongs to another episode.
    """
    last, middle = -7.0, 2.0 + 15.0 - 20.0
    assert advantages([0, 0, 0], [0, 1, 0]) == [1 + 0.25 * middle, middle, last]


def test_a_fall_at_the_moment_of_the_time_out_is_a_fall() -> None:
    """The value after a fall never counts, with or without a time-out."""
    assert advantages([0, 1, 0], [0, 1, 0]) == advantages([0, 1, 0], [0, 0, 0])


def test_advantages_of_robots_and_reward_groups_do_not_mix() -> None:
    """Each column equals its own separate result."""
    generator = torch.Generator().manual_seed(0)
    reward, value, after = (torch.randn(5, 3, 2, generator=generator) for _ in range(3))
    fallen = (torch.rand(5, 3, generator=generator) < 0.3).float()
    together = equations.advantages(reward, value, after, fallen, fallen, 0.9, 0.8)
    for robot in range(3):
        for group in range(2):
            one = (slice(None), slice(robot, robot + 1), slice(group, group + 1))
            alone = equations.advantages(
                reward[one],
                value[one],
                after[one],
                fallen[:, robot : robot + 1],
                fallen[:, robot : robot + 1],
                0.9,
                0.8,
            )
            close(together[one], alone)


def test_without_lambda_an_advantage_is_one_temporal_difference() -> None:
    """The advantage is r + gamma V' - V, here 1 + 0.9 * 3 - 2."""
    ones = torch.ones(4, 1, 1)
    result = equations.advantages(
        ones, 2 * ones, 3 * ones, torch.zeros(4, 1), torch.zeros(4, 1), 0.9, 0.0
    )
    close(result, torch.full((4, 1, 1), 1 + 0.9 * 3 - 2))


def test_with_lambda_one_advantage_plus_value_is_the_discounted_return() -> None:
    """Rewards 1, 2, 3, then a value of 8: 1 + 0.5 (2 + 0.5 (3 + 0.5 * 8))."""
    value = torch.tensor([5.0, 6, 7, 8])
    result = equations.advantages(
        torch.tensor([1.0, 2, 3]).view(3, 1, 1), value[:3].view(3, 1, 1), value[1:].view(3, 1, 1),
        torch.zeros(3, 1), torch.zeros(3, 1), 0.5, 1.0,
    )  # fmt: skip
    close(result[0, 0, 0] + 5, torch.tensor(1 + 0.5 * (2 + 0.5 * (3 + 0.5 * 8))))


def test_standardised_advantages_have_zero_mean_and_unit_deviation_per_group() -> None:
    """Values 1 and 3, with mean 2 and deviation sqrt(2), become -+1 / sqrt(2).

    A group of a thousand times these values gives the same.
    """
    advantage = torch.tensor([[[1.0, 1000.0]], [[3.0, 3000.0]]])
    expected = torch.tensor([-1.0, 1.0]).view(2, 1, 1).expand(2, 1, 2) / 2**0.5
    close(equations.standardised(advantage), expected)


def test_standardising_a_constant_gives_zero() -> None:
    """The intrinsic reward of a single skill is zero everywhere, and must stay finite."""
    close(equations.standardised(torch.zeros(3, 2, 1)), torch.zeros(3, 2, 1))


def test_combined_advantage_weighs_task_against_diversity() -> None:
    """0.6 * 10 + l * 100 + (1 - l) * 1000 with l = 1, 0.25 and 0."""
    multiplier = torch.tensor([1.0, 0.25, 0.0])
    regular, task, intrinsic = (torch.full((3,), value) for value in (10.0, 100.0, 1000.0))
    combined = equations.combined_advantage(regular, task, intrinsic, multiplier, 0.6)
    close(combined, torch.tensor([6.0 + 100, 6 + 25 + 750, 6 + 1000]))


# --- Successor features --------------------------------------------------------------------------


def test_successor_target_averages_features_to_come() -> None:
    """The target is a tenth of the feature plus nine tenths of the next prediction.

    At the end of an episode the prediction does not count.
    """
    features, after = (
        torch.tensor([[[1.0, 2.0]], [[1.0, 2.0]]]),
        torch.tensor([[[10.0, 20.0]], [[10.0, 20.0]]]),
    )
    target = equations.successor_target(features, after, torch.tensor([[0.0], [1.0]]), 0.9)
    close(target, torch.tensor([[[0.1 + 9, 0.2 + 18]], [[0.1, 0.2]]]))


def test_constant_features_are_their_own_successor_features() -> None:
    """(1 - gamma) phi + gamma phi = phi: skills are compared in the unit of the features."""
    phi = torch.tensor([[[0.3, -2.0, 5.0]]])
    close(equations.successor_target(phi, phi, torch.zeros(1, 1), 0.95), phi)


SKILLS = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
"""Successor features of three skills: distances 0-1 5, 0-2 1, 1-2 sqrt(18)."""


@pytest.mark.parametrize(
    ("skill", "difference", "distance"),
    [(0, (0.0, -1.0), 1.0), (1, (3.0, 3.0), 18**0.5), (2, (0.0, 1.0), 1.0)],
)
def test_nearest_skill_is_the_closest_other_one(
    skill: int, difference: tuple[float, float], distance: float
) -> None:
    """The difference points away from the neighbour.

    A skill is not its own neighbour.
    """
    found, smallest = equations.nearest_skill(SKILLS[None], torch.tensor([skill]))
    close(found, torch.tensor([difference]))
    close(smallest, torch.tensor([distance]))


def test_nearest_skill_is_found_per_sample() -> None:
    """Skills are near each other in some states and far apart in others."""
    swapped = SKILLS[[0, 2, 1]]  # now skill 1 is the nearest
    difference, _ = equations.nearest_skill(torch.stack([SKILLS, swapped]), torch.tensor([1, 1]))
    close(difference, torch.tensor([[3.0, 3.0], [0.0, 1.0]]))


def test_of_two_nearest_skills_one_is_taken_whole() -> None:
    """The mean of neighbours on both sides would give no force at all."""
    line = torch.tensor([[[0.0], [-2.0], [2.0]]])
    difference, distance = equations.nearest_skill(line, torch.tensor([0]))
    assert difference.item() in (2.0, -2.0)
    assert distance.item() == 2.0


def test_a_skill_that_coincides_with_another_is_at_distance_zero() -> None:
    """The skill with equal features, not the third skill, is the nearest."""
    twins = torch.tensor([[[1.0, 1.0], [1.0, 1.0], [0.0, 9.0]]])
    difference, distance = equations.nearest_skill(twins, torch.tensor([0]))
    close(difference, torch.zeros(1, 2))
    close(distance, torch.zeros(1))


def test_diversity_reward_is_the_mean_product_times_the_strength() -> None:
    """(1 * 4 + 2 * -1) / 2 = 1, and three times that."""
    features, difference = torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, -1.0]])
    close(equations.diversity_reward(features, difference), torch.tensor([1.0]))
    close(
        equations.diversity_reward(features, difference, torch.tensor([3.0])), torch.tensor([3.0])
    )


def test_the_reward_from_the_midpoint_is_half_the_squared_distance_at_ones_own_place() -> None:
    """Skills at 1 and 3, both on one side of 0: (3 - 1)^2 / 2 = 2 for each at its own place.

    From the origin, the nearer one would get 1 (1 - 3) = -2, and would gain by falling.
    """
    for own, other in ((1.0, 3.0), (3.0, 1.0)):
        place = torch.tensor([[own]])
        difference = torch.tensor([[own - other]])
        seen = equations.from_midpoint(place, place, difference)
        close(equations.diversity_reward(seen, difference), torch.tensor([2.0]))


def test_diversity_reward_is_positive_where_the_neighbour_does_not_go() -> None:
    """A skill is rewarded at its own features and punished at its neighbour's."""
    own, neighbour = torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.0]])
    difference = own - neighbour
    assert (
        equations.diversity_reward(own, difference)
        > 0
        > equations.diversity_reward(neighbour, difference)
    )


def test_without_attraction_the_force_is_the_same_at_any_distance() -> None:
    """The released run has a repulsive force of power zero and strength one, also at zero."""
    distance = torch.tensor([0.0, 0.5, 100.0])
    close(equations.van_der_waals(distance, 2.0, 0.0, 3.0, 0.0), torch.ones(3))


def test_van_der_waals_turns_from_repulsion_to_attraction() -> None:
    """Half each: 0.5 - 0.5 (d / 2)^3 is 0.4375 at d = 1, zero at d = 2, -3.5 at d = 4."""
    strength = equations.van_der_waals(torch.tensor([1.0, 2.0, 4.0]), 2.0, 0.5, 3.0, 0.0)
    close(strength, torch.tensor([0.5 - 0.5 / 8, 0.0, 0.5 - 0.5 * 8]))


def test_van_der_waals_uses_both_powers() -> None:
    close(
        equations.van_der_waals(torch.tensor(3.0), 2.0, 0.25, 2.0, 1.0),
        torch.tensor(0.75 * 1.5 - 0.25 * 2.25),
    )


# --- Multipliers and policy ----------------------------------------------------------------------


def test_multiplier_loss_is_multiplier_times_slack() -> None:
    loss = equations.multiplier_loss(
        torch.tensor([2.0, -1.0]), torch.tensor([0.5, 0.9]), torch.tensor(0.8)
    )
    close(loss, torch.tensor(2 * -0.3 - 0.1))


def test_descending_the_multiplier_loss_raises_the_multiplier_of_a_violated_skill() -> None:
    """A task value below the bound raises the weight of the task; a higher one lowers it."""
    raw = torch.zeros(2, requires_grad=True)
    equations.multiplier_loss(raw, torch.tensor([0.5, 0.9]), torch.tensor(0.8)).backward()
    step = -raw.grad  # type: ignore[operator]  # filled by backward
    assert step[0] > 0 > step[1]
    close(step, torch.tensor([0.3, -0.1]))


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.1, 2.0, -2.2),  # within the clip: the plain surrogate
        (0.9, -2.0, 1.8),
        (1.5, 2.0, -2.4),  # good and already likelier by a half: no more than 1.2 counts
        (0.5, -2.0, 1.6),  # bad and already rarer by a half: no less than 0.8 counts
        (0.5, 2.0, -1.0),  # good but rarer: not clipped, or it could not recover
        (1.5, -2.0, 3.0),  # bad but likelier: not clipped
    ],
)
def test_surrogate_is_clipped_only_where_going_on_would_gain(
    ratio: float, advantage: float, loss: float
) -> None:
    """The loss is the negative minimum of r A and clip(r) A."""
    value = equations.clipped_surrogate(
        torch.tensor([log(ratio)]), torch.zeros(1), torch.tensor([advantage]), 0.2
    )
    close(value, torch.tensor(loss))


@pytest.mark.parametrize(
    ("ratio", "advantage", "flat"),
    [(1.5, 2.0, True), (0.5, -2.0, True), (0.5, 2.0, False), (1.5, -2.0, False)],
)
def test_clipped_samples_have_no_gradient(ratio: float, advantage: float, flat: bool) -> None:
    """A sample beyond the clip must not push the policy further.

    Elsewhere, d(-r A) / d log r is -r A.
    """
    log_prob = torch.tensor([log(ratio)], requires_grad=True)
    equations.clipped_surrogate(log_prob, torch.zeros(1), torch.tensor([advantage]), 0.2).backward()
    close(log_prob.grad, torch.tensor([0.0 if flat else -ratio * advantage]))


def test_surrogate_is_the_mean_over_samples() -> None:
    """Ratios are 1 and e^0.1, advantages 1 and 3."""
    value = equations.clipped_surrogate(
        torch.tensor([0.0, 0.1]), torch.zeros(2), torch.tensor([1.0, 3.0]), 0.2
    )
    close(value, torch.tensor(-(1 + 3 * exp(0.1)) / 2))


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=8),
    st.lists(st.floats(-5, 5), min_size=8, max_size=8),
)
def test_surrogate_is_never_more_optimistic_than_the_plain_one(
    change: list[float], advantages: list[float]
) -> None:
    """The loss is at least the unclipped loss."""
    log_prob, advantage = torch.tensor(change), torch.tensor(advantages[: len(change)])
    plain = -(log_prob.exp() * advantage).mean()
    assert (
        equations.clipped_surrogate(log_prob, torch.zeros_like(log_prob), advantage, 0.2)
        >= plain - 1e-5
    )


def test_no_equation_changes_its_inputs() -> None:
    """The rollout is read again after the advantages are computed."""
    reward, value, after = (torch.rand(3, 2, 2) for _ in range(3))
    fallen, features = torch.zeros(3, 2), torch.rand(3, 2, 4)
    inputs: list[Tensor] = [reward, value, after, fallen, features]
    copies = [tensor.clone() for tensor in inputs]
    equations.standardised(equations.advantages(reward, value, after, fallen, fallen, 0.9, 0.9))
    equations.successor_target(features, features, fallen, 0.9)
    equations.nearest_skill(features.view(2, 3, 4), torch.tensor([0, 1]))
    for tensor, copy in zip(inputs, copies, strict=True):
        close(tensor, copy, rtol=0, atol=0)
