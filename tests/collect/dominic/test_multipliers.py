"""Lagrange multipliers: signs, bounds, and gradients that do not accumulate."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from collect.dominic.multipliers import TaskMultipliers
from collect.dominic.pretrain_config import DiversityConfig

close = torch.testing.assert_close


def multipliers(*values: float, **config: float) -> TaskMultipliers:
    """Return multipliers of skills with these task values; the first skill is the target."""
    result = TaskMultipliers(len(values), DiversityConfig(**config))  # type: ignore[arg-type]
    result.observe(torch.tensor(values), torch.arange(len(values)))
    return result


def test_weights_start_at_one_half_and_the_target_has_one() -> None:
    """sigma(0) = 0.5; the target skill never trades the task for diversity."""
    close(multipliers(1.0, 1.0, 1.0).weights(), torch.tensor([1.0, 0.5, 0.5]))


def test_the_target_keeps_weight_one_for_any_raw_multiplier() -> None:
    """The target is always above its own threshold, so its raw multiplier decreases."""
    lagrange = multipliers(1.0, 1.0, alpha=0.5, multiplier_lr=1.0)
    for _ in range(5):
        lagrange.update()
    assert lagrange.raw[0] < 0
    assert lagrange.weights()[0] == 1.0


def test_slack_is_the_value_above_alpha_times_the_targets() -> None:
    """0.8 * 0.5 = 0.4: skills at 0.5, 0.3 and 0.45."""
    close(multipliers(0.5, 0.3, 0.45, alpha=0.8).slack(), torch.tensor([0.1, -0.1, 0.05]))


def test_a_violated_skill_gains_weight_and_a_satisfied_one_loses_it() -> None:
    """Skill 1 is below 0.8 of the target's value, skill 2 above it."""
    lagrange = multipliers(1.0, 0.5, 0.9, alpha=0.8)
    lagrange.update()
    weights = lagrange.weights()
    assert weights[1] > 0.5 > weights[2]


def test_one_step_is_adams_first_step() -> None:
    """Adam's first step has the size of the learning rate for any gradient: +-0.05."""
    lagrange = multipliers(1.0, 0.5, 0.9, alpha=0.8, multiplier_lr=0.05)
    lagrange.update()
    close(lagrange.raw.detach(), torch.tensor([-0.05, 0.05, -0.05]), rtol=0, atol=1e-6)


def test_raw_multipliers_stay_within_their_bound() -> None:
    """Weights stay between sigma(-3) = 0.047 and sigma(3) = 0.953, so that none gets stuck."""
    lagrange = multipliers(1.0, 0.1, 0.9, alpha=0.8, multiplier_lr=1.0, multiplier_bound=3.0)
    for _ in range(10):
        lagrange.update()
        assert lagrange.raw.abs().max() <= 3.0
    close(lagrange.raw.detach(), torch.tensor([-3.0, 3.0, -3.0]))
    close(lagrange.weights()[1:], torch.tensor([0.95257413, 0.04742587]))


def test_gradients_are_reset_at_every_update() -> None:
    """After an update the gradient is the present slack, not the sum of all slacks so far."""
    lagrange = multipliers(1.0, 0.5, alpha=0.8)
    for value in (0.5, 0.6, 0.7):
        lagrange.value[1] = value
        lagrange.update()
        close(lagrange.raw.grad, torch.tensor([1.0 - 0.8, value - 0.8]))


def test_a_multiplier_turns_round_when_the_violation_ends() -> None:
    """With accumulated gradients, 50 steps of violation would outweigh 50 of the opposite.

    The multiplier would rise to the end.
    """
    lagrange = multipliers(1.0, 0.6, alpha=0.8, multiplier_lr=0.01)
    raised = []
    for value in [0.6] * 50 + [0.9] * 50:
        lagrange.value[1] = value
        lagrange.update()
        raised.append(float(lagrange.raw[1].detach()))
    assert max(raised) > 0.4
    assert raised[-1] < max(raised) - 0.1


def test_the_first_observation_sets_the_running_values() -> None:
    """A decayed first value would be a tenth of it."""
    close(multipliers(0.4, 0.2, value_decay=0.9).value, torch.tensor([0.4, 0.2]))


def test_later_observations_are_averaged_in() -> None:
    """0.9 * 0.4 + 0.1 * 1.4 = 0.5, and 0.9 * 0.5 + 0.1 * 1.0 = 0.55."""
    lagrange = multipliers(0.4, 0.2, value_decay=0.9)
    for value, expected in ((1.4, 0.5), (1.0, 0.55)):
        lagrange.observe(torch.tensor([value, 0.2]), torch.tensor([0, 1]))
        close(lagrange.value, torch.tensor([expected, 0.2]))


def test_the_value_of_a_skill_is_the_mean_over_its_robots() -> None:
    """The robots have skills 0, 1, 0, 1, 1."""
    lagrange = TaskMultipliers(2, DiversityConfig())
    lagrange.observe(torch.tensor([1.0, 10, 3, 20, 60]), torch.tensor([0, 1, 0, 1, 1]))
    close(lagrange.value, torch.tensor([2.0, 30.0]))


def test_weights_and_slack_carry_no_gradient() -> None:
    """Weights are logged and multiplied into advantages; no gradient may reach the multipliers."""
    lagrange = multipliers(1.0, 0.5)
    assert not lagrange.weights().requires_grad
    assert not lagrange.slack().requires_grad


def test_reading_weights_does_not_change_the_raw_multipliers() -> None:
    """The one of the target is written into a copy."""
    lagrange = multipliers(1.0, 0.5)
    lagrange.weights()
    close(lagrange.raw.detach(), torch.zeros(2))


@pytest.mark.parametrize("steps", [0, 3])
def test_state_and_optimiser_continue_where_they_were(steps: int) -> None:
    """After saving and loading values, count and Adam's moments, two more updates give the same."""
    one = multipliers(1.0, 0.5, 0.9)
    for _ in range(steps):
        one.update()
    other = TaskMultipliers(3, DiversityConfig())
    other.load_state_dict(one.state_dict())
    other.optimiser.load_state_dict(deepcopy(one.optimiser.state_dict()))
    for lagrange in (one, other):
        for _ in range(2):
            lagrange.observe(torch.tensor([1.0, 0.7, 0.7]), torch.arange(3))
            lagrange.update()
    close(other.raw, one.raw, rtol=0, atol=0)
    close(other.value, one.value, rtol=0, atol=0)


def test_settled_multipliers_go_on_from_their_average_in_smaller_steps() -> None:
    """One update to raw 0.05: the average weight is 0.002 of the way from 0.5 to sigma(0.05)."""
    lagrange = multipliers(1.0, 0.5, alpha=0.8, multiplier_lr=0.05, settle=0.5)
    lagrange.update()
    average = 0.998 * 0.5 + 0.002 * torch.sigmoid(torch.tensor(0.05))
    lagrange.settle()
    close(torch.sigmoid(lagrange.raw[1]).detach(), average)
    before = lagrange.raw[1].clone()
    lagrange.update()
    close(lagrange.raw[1] - before, torch.tensor(0.005), rtol=0, atol=1e-6)
