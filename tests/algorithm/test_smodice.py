"""SMODICE: the classifier's logit, one step of the dual problem, and the expert's ratios."""

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
from solo_doi.algorithm.part_configs import ClassifierConfig, ValueConfig
from solo_doi.algorithm.smodice import DualValue, recover_expert, train_classifier, updates
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem

from .small import EVERYTHING, build, ragged, seeded, small_config, table

close = torch.testing.assert_close


def classifying(**changes: object) -> TrainConfig:
    """Return settings of a small, quick classifier without a gradient penalty."""
    settings = {
        "terms": EVERYTHING,
        "average": 1,
        "hidden": 32,
        "updates": 300,
        "batch": 512,
        "reward_scale": 1.0,
    }
    return small_config(classifier=ClassifierConfig(**(settings | changes)))  # type: ignore[arg-type]


# --- Classifier ----------------------------------------------------------------------------------


def test_classifier_finds_the_log_ratio() -> None:
    """Three states; expert 1/2, 1/4, 1/4 and data 1/4, 1/4, 1/2 give log 2, 0, -log 2.

    The tolerance covers the noise of minibatches.
    """
    config = classifying(updates=300, lr=3e-3)
    states = np.eye(3)
    problem = build(table(states[[0, 1, 2, 2]]), config, table(states[[0, 0, 1, 2]]))
    logit = train_classifier(problem, config, seeded(), lambda _: None)
    close(logit, torch.tensor([log(2), 0, -log(2), -log(2)]), rtol=0, atol=0.2)


def test_reward_scale_multiplies_the_logit() -> None:
    """A scale of 3 gives three times the logit."""
    problem = build(ragged((5, 5)), expert=ragged((4,)))
    one, three = (
        train_classifier(
            problem, classifying(updates=5, reward_scale=scale), seeded(), lambda _: None
        )
        for scale in (1.0, 3.0)
    )
    close(three, 3 * one)


def test_gradient_penalty_keeps_the_slope_near_one() -> None:
    """Data are evenly at -1 and 1, the expert only at 1.

    Without penalty the logit at -1 falls without bound; with it, the logit is 2 lower than at 1. At
    a slope of s the cross-entropy pulls with at most 1 per unit; the penalty holds with 20 (s - 1).
    """
    problem = build(table(np.array([[-1.0], [1.0]])), expert=table(np.array([[1.0]])))
    slope = {}
    for weight in (0.0, 10.0):
        config = classifying(gradient_penalty=weight, lr=1e-2, updates=200, batch=128)
        logit = train_classifier(problem, config, seeded(), lambda _: None)
        slope[weight] = float(logit[1] - logit[0]) / 2
    assert slope[10.0] == pytest.approx(1, abs=0.1)
    assert slope[0.0] > 2


def test_classifier_that_is_no_number_ends_training() -> None:
    """The error names the metric."""
    problem = build(ragged((5, 5)))
    broken = replace(problem, classifier_input=torch.full_like(problem.classifier_input, torch.nan))
    with pytest.raises(TrainingError, match="loss/classifier became nan"):
        train_classifier(broken, classifying(updates=1), seeded(), lambda _: None)


# --- One step of the dual problem ----------------------------------------------------------------


def stepping(**changes: object) -> TrainConfig:
    """Return settings with a small value network and minibatches of 30 transitions."""
    settings = {"hidden": 16, "windows": 5, "window": 6, "initial_batch": 7}
    return small_config(gamma=0.9, value=ValueConfig(**settings), **changes)


def assert_step_is_of_the_dual_problem(problem: Problem, config: TrainConfig, skills: int) -> None:
    """Compare loss and temporal differences of a step with values computed one by one."""
    reward = torch.randn(skills, problem.num_rows, generator=seeded(3))
    value = DualValue(problem, skills, config, seeded(1))
    before = deepcopy(value.network)
    batch = value.draw()
    rows = batch.rows
    loss, delta = value.step(batch, reward[:, rows])
    assert rows.shape == (30,)
    with torch.no_grad():
        values = before(problem.states)[..., 0]
        here, there = values[:, problem.here[rows]], values[:, problem.there[rows]]
        expected = equations.td_error(reward[:, rows], here, there, 0.9)
        close(delta, expected)
        initial = values[
            :, problem.here[problem.first]
        ]  # one trajectory: all initial states are this one
        dual = equations.chi_square_loss if config.divergence == "chi2" else equations.dual_loss
        assert loss == pytest.approx(float(dual(initial, expected, 0.9).sum()), rel=1e-5)
    assert not torch.equal(value.network.first, before.first)


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("skills", [1, 3])
def test_a_step_is_of_the_dual_problem(divergence: str, skills: int) -> None:
    """The data are one trajectory of twenty transitions."""
    config = stepping(divergence=divergence)
    assert_step_is_of_the_dual_problem(build(ragged((20,)), config), config, skills)


def test_a_step_is_of_the_dual_problem_in_data_that_are_not_linked() -> None:
    """In such data a transition does not lead to the state of the next one."""
    config = stepping()
    assert_step_is_of_the_dual_problem(build(ragged((20,), linked=False), config), config, 2)


def test_initial_states_are_the_first_of_trajectories() -> None:
    """The last rows of the network's input are the first states of both trajectories."""
    config = replace(stepping(), gamma=0.5)
    problem = build(ragged((4, 6)), config)
    value = DualValue(problem, 1, config, seeded(1))
    seen: list[Tensor] = []
    value.network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    value.step(value.draw(), torch.zeros(1, 30))
    starts = problem.states[problem.here[problem.first]]
    initial = seen[0][-config.value.initial_batch :]
    assert all((starts == state).all(dim=1).any() for state in initial)
    assert len(torch.unique(initial, dim=0)) == 2


def test_skills_share_a_minibatch_and_not_their_rewards() -> None:
    """Two skills with equal values differ only by their rewards."""
    config = stepping()
    value = DualValue(build(ragged((8, 12)), config), 2, config, seeded(1))
    with torch.no_grad():
        value.network.skill.copy_(value.network.skill[:1].clone().expand(2, -1))
    _, delta = value.step(value.draw(), torch.stack([torch.zeros(30), torch.full((30,), 5.0)]))
    close(delta[1] - delta[0], torch.full((30,), 5.0), rtol=0, atol=1e-5)


# --- The expert ----------------------------------------------------------------------------------


def quick() -> TrainConfig:
    """Return settings that train classifier and value in about a second."""
    return small_config(
        classifier=ClassifierConfig(
            terms=EVERYTHING, average=1, hidden=32, updates=150, reward_scale=1.0
        ),
        value=ValueConfig(hidden=32, lr=3e-3, expert_updates=150),
        truncation=1.0,
    )


def two_ways() -> Problem:
    """Return twenty trajectories of ten steps at 1, where the expert is, and thirty at -1."""
    rng = np.random.default_rng(0)
    place = np.repeat([1.0] * 20 + [-1.0] * 30, 10)[:, None]
    data = table(place + 0.1 * rng.normal(size=place.shape), length=10)
    return build(data, quick(), table(1 + 0.1 * rng.normal(size=(50, 1))))


def test_recovered_expert_is_where_the_expert_is() -> None:
    """Most of the weight lies on the 40 % of the data that the expert made.

    Weights sum to one, in double precision.
    """
    problem = two_ways()
    expert = recover_expert(problem, quick(), seeded(), lambda _: None)
    assert expert.log_w.dtype == torch.float64
    assert expert.log_w.shape == expert.logit.shape == (500,)
    w = expert.log_w.exp()
    assert float(w.sum()) == pytest.approx(1)
    assert float(w[:200].sum()) > 0.9
    assert float(expert.logit[:200].mean()) > 0.5 > -0.5 > float(expert.logit[200:].mean())


def test_recovering_reports_every_update_and_is_repeatable() -> None:
    """Updates of classifier and value are both reported; the same seed gives the same weights."""
    config = small_config(
        classifier=ClassifierConfig(terms=EVERYTHING, average=1, hidden=8, updates=4, batch=8),
        value=ValueConfig(hidden=8, windows=2, window=4, initial_batch=3, expert_updates=3),
    )
    problem, calls = build(ragged((5, 5)), config), []
    one, same, other = (
        recover_expert(problem, config, seeded(seed), calls.append) for seed in (0, 0, 1)
    )
    assert len(calls) == 3 * updates(config)
    assert [[*losses] for losses in calls[:7]] == 4 * [["loss/classifier"]] + 3 * [
        ["loss/expert_value"]
    ]
    assert torch.equal(one.log_w, same.log_w)
    assert not torch.equal(one.log_w, other.log_w)


def test_a_value_that_is_no_number_ends_training() -> None:
    """Files with states that are not finite are refused earlier.

    A broken classifier could still give such rewards.
    """
    config = replace(quick(), value=ValueConfig(expert_updates=1))
    problem = build(ragged((5, 5)), config)
    broken = replace(problem, states=torch.full_like(problem.states, torch.nan))
    with pytest.raises(TrainingError, match="loss/expert_value became nan"):
        recover_expert(broken, config, seeded(), lambda _: None)
