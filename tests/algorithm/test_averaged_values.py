"""Values with means over next states, against an independent solver and numbers by hand."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from solo_doi.algorithm import averaged_values, equations
from solo_doi.algorithm.averaged_values import AveragedValue
from solo_doi.algorithm.doi import Doi
from solo_doi.algorithm.part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    PolicyConfig,
    ValueConfig,
)
from solo_doi.algorithm.smodice import Expert
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem
from solo_doi.common.errors import SoloError
from solo_doi.data.transitions import Transitions

from .random_mdps import sampled
from .small import build, ragged, seeded, small_config, table
from .tabular import Mdp, random_mdp, solve_primal

AVERAGED = ValueConfig(averaged=True, updates=5)


def gamble(left: int = 3) -> Transitions:
    """Return data in which action 0 leads to state 1 or 2, equally often, and action 1 to state 3.

    Both actions start in state 0. The first `left` of these states lead back; the others have no
    transition.
    """
    pairs = 4 + left
    here = np.eye(4, dtype=np.float32)[np.repeat([0, 0, 0, 0, 1, 2, 3][:pairs], 10)]
    there = np.eye(4, dtype=np.float32)[np.repeat([1, 2, 3, 3, 0, 0, 0][:pairs], 10)]
    action = np.repeat([0, 0, 1, 1, 0, 0, 0][:pairs], 10)[:, None]
    return replace(table(here, action), next_observations=there)


def drawn_mdp(rows: int = 3000) -> tuple[Mdp, Problem, np.ndarray]:
    """Sample a random MDP; return the MDP of the samples' frequencies, and the pair of each row."""
    mdp = random_mdp(5, 2, 0.9, seed=3)
    policy = mdp.data / mdp.data.sum(1, keepdims=True)
    data, pairs = sampled(mdp, policy, rows, seed=1)
    there = data.next_observations.argmax(1)
    count = np.zeros((10, 5))
    np.add.at(count, (pairs, there), 1)
    transition = (count / count.sum(1, keepdims=True)).reshape(5, 2, 5)
    initial = np.bincount(data.observations[data.starts].argmax(1), minlength=5) / len(data.starts)
    shares = np.bincount(pairs, minlength=10).reshape(5, 2) / rows
    return Mdp(transition, initial, 0.9, shares), build(data), pairs


def test_a_gamble_is_worth_its_mean() -> None:
    """Values 2 and -2 after one action, 0 after the other: both means are 0.

    The next state of each row would give the first action cosh(1.8) = 3.1 times the ratio.
    """
    problem = build(gamble())
    value = AveragedValue(problem, 1, 0.9)
    states = np.unique(problem.states.numpy(), axis=0)
    ends = problem.states[problem.there[[0, 10]]].numpy()
    high, low = (int((states == end).all(1).argmax()) for end in ends)
    value.table[0, high] = 2.0
    value.table[0, low] = -2.0
    rows = torch.arange(40)  # those that leave state 0
    before, after = value.around(rows)
    assert before.tolist() == [[0.0] * 40]
    assert after.tolist() == [[0.0] * 40]
    drawn = value.table[0, [high, low]].repeat_interleave(10)
    ratio = equations.td_error(torch.zeros(20), torch.zeros(20), drawn, 0.9).exp().mean()
    assert float(ratio) == pytest.approx(math.cosh(1.8))


def test_ratios_solve_the_convex_program() -> None:
    """Newton steps end at the occupancies that another solver finds for the same frequencies."""
    mdp, problem, pairs = drawn_mdp()
    reward = 2 * np.random.default_rng(5).normal(size=(2, 10))
    value = AveragedValue(problem, 2, 0.9)
    rows = value.draw().rows
    ours = torch.from_numpy(reward)[:, pairs[rows]]
    losses = [value.step(value.draw(), ours)[0] for _ in range(30)]
    here, there = value.around(rows)
    delta = equations.td_error(ours, here, there, 0.9)
    shares = torch.from_numpy(np.log(mdp.data.ravel()[pairs[rows]]))
    optimum = 0.0
    for skill in range(2):
        occupancy, primal = solve_primal(mdp, reward[skill].reshape(5, 2))
        ratio = equations.log_ratios(delta[skill], shares).exp().numpy()
        np.testing.assert_allclose(ratio, (occupancy / mdp.data).ravel()[pairs[rows]], atol=1e-4)
        optimum += primal
    assert losses[-1] == pytest.approx(optimum, abs=1e-6)
    assert losses == sorted(losses, reverse=True)


def test_solved_values_are_not_moved() -> None:
    _, problem, _ = drawn_mdp()
    value = AveragedValue(problem, 1, 0.9)
    reward = torch.randn(1, 10, generator=seeded())
    for _ in range(30):
        value.step(value.draw(), reward)
    before = value.table
    value.step(value.draw(), reward)
    torch.testing.assert_close(value.table, before, rtol=0, atol=1e-6)


def test_a_continued_run_has_the_same_values() -> None:
    """A loaded table continues as the saved one would."""
    config = small_config(skills=2, subset=100, value=AVERAGED, gamma=0.9)
    _, problem, _ = drawn_mdp()
    logit = torch.randn(problem.num_rows, generator=seeded(1))

    def make(seed: int) -> Doi:
        expert = Expert(logit, equations.log_weights(logit))
        return Doi(problem, expert, config, seeded(seed))

    first = make(1)
    first.step()
    second = make(2)
    second.load(first.state())
    rows = torch.arange(problem.num_rows)
    torch.testing.assert_close(second.log_weights(rows), first.log_weights(rows))


def test_data_without_repeated_pairs_are_refused() -> None:
    """Every row of these data has a different state."""
    with pytest.raises(SoloError, match=r"value\.averaged: the data have 60 different pairs"):
        AveragedValue(build(ragged((30, 30))), 1, 0.9)


@pytest.mark.parametrize("name", ["states", "actions"])
def test_a_sample_of_continuous_data_is_enough_to_refuse_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting all rows would take minutes."""
    rows = 6 * averaged_values.SAMPLE
    continuous = np.arange(rows)[:, None]
    discrete = continuous % 2
    columns = (continuous, discrete) if name == "states" else (discrete, continuous)
    problem = build(table(*columns))
    unique = np.unique
    sizes = []

    def noted(values: np.ndarray, **options: Any) -> Any:  # as np.unique
        sizes.append(len(values))
        return unique(values, **options)

    monkeypatch.setattr(np, "unique", noted)
    message = rf"10000 different {name} in a sample of 10000\. Expected discrete data with at most"
    with pytest.raises(SoloError, match=message):
        AveragedValue(problem, 1, 0.9)
    assert max(sizes) <= averaged_values.SAMPLE


@pytest.mark.parametrize(("states", "actions"), [(501, 1), (400, 13)])
def test_large_tables_are_refused(states: int, actions: int) -> None:
    """One state too many, or more than 5000 pairs, each seen ten times."""
    pair = np.repeat(np.arange(states * actions), 10)[:, None]
    message = f"{states * actions} different pairs .*, and {states} states|{states} different"
    with pytest.raises(SoloError, match=message):
        AveragedValue(build(table(pair // actions, pair % actions)), 1, 0.9)


def test_the_largest_tables_are_allowed() -> None:
    pair = np.repeat(np.arange(5000), 10)[:, None]
    value = AveragedValue(build(table(pair // 10, pair % 10)), 1, 0.9)
    assert value.table.shape == (1, 500)
    assert len(value.draw().rows) == 5000


@pytest.mark.parametrize("left", [0, 1, 2])
def test_states_that_are_never_left_are_refused(left: int) -> None:
    """No occupancy that keeps the flow can reach them."""
    message = rf"value\.averaged: {3 - left} states of the data are reached but never left"
    with pytest.raises(SoloError, match=message):
        AveragedValue(build(gamble(left)), 1, 0.9)


@pytest.mark.parametrize(
    "config",
    [
        TrainConfig(value=AVERAGED, divergence="chi2"),
        TrainConfig(value=AVERAGED, policy=PolicyConfig(in_loop=True)),
    ],
)
def test_settings_that_need_minibatches_are_refused(config: TrainConfig) -> None:
    with pytest.raises(SoloError, match=r"value\.averaged is True: expected off with"):
        config.check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"classifier": ClassifierConfig(average=2)},
            "classifier.average is 2: expected 1 with value.averaged.",
        ),
        (
            {"discriminator": DiscriminatorConfig(average=2, swing_terms=())},
            "discriminator.average is 2: expected 1 with value.averaged.",
        ),
        (
            {"discriminator": DiscriminatorConfig(average=2, swing_terms=("observation",))},
            "discriminator.swing_terms is ('observation',): expected none with value.averaged.",
        ),
        (
            {"trajectory_power": 0.5},
            "trajectory_power is 0.5: expected 0 with value.averaged.",
        ),
    ],
)
def test_rewards_that_differ_within_a_pair_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    """Each of these settings makes rewards depend on other rows of the trajectory."""
    with pytest.raises(SoloError, match=re.escape(message)):
        small_config(value=AVERAGED, **changes).check()
    small_config(**changes).check()


def test_rewards_by_state_and_action_are_allowed() -> None:
    small_config(value=AVERAGED).check()
