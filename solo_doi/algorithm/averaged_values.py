"""Dual values of discrete data, as a table, with means over the next states of each pair.

A pair is a state and an action. Only data in which pairs repeat have means that differ from the
single next state of a row.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from solo_doi.common.errors import SoloError

from . import equations
from .minibatches import Minibatch, Windows
from .training_data import Problem

MOST_TABLE_STATES = 500
"""Largest number of states. A Newton step decomposes a matrix of states x states."""
MOST_PAIRS = 5000
"""Largest number of pairs. Three tables of pairs x states exist at once, 60 MB in all."""
FEWEST_REPEATS = 10
"""Fewest transitions per pair, on average, for means over next states."""
SAMPLE = 10_000
"""Rows of the sample that is checked before all rows are sorted."""
SMALLEST_GRADIENT = 1e-10
"""Violation of the flow constraint at which values are not moved."""
SMALLEST_NEWTON_STEP = 1e-10
"""Smallest share of a Newton step that the line search tries."""
DESCENT = 1e-4
"""Share of the predicted descent that a step must reach."""


class AveragedValue:
    """Table of values (Z, S) that minimise the dual of the data's empirical MDP.

    delta(s, a) = R(s, a) + gamma E[V(s') | s, a] - V(s), with the mean over all rows of the pair.
    One next state per row would give the exponential of a drawn delta, which is larger on average.
    Rewards must be functions of state and action; `TrainConfig.check` refuses other settings.
    """

    def __init__(self, problem: Problem, skills: int, gamma: float) -> None:
        """Count transitions of every pair; values start at zero."""
        self._gamma = gamma
        self._device = problem.device
        _check_sample("states", problem.states, MOST_TABLE_STATES)
        _check_sample("actions", problem.actions, MOST_PAIRS)
        states, number = _numbered(problem.states)
        actions, action = _numbered(problem.actions)
        here = number[problem.here.cpu().numpy()]
        there = number[problem.there.cpu().numpy()]
        first = problem.first.cpu().numpy()
        _, row, pair = np.unique(here * actions + action, return_index=True, return_inverse=True)
        _check_size(len(pair), len(row), states)
        _check_left(states - len(np.unique(here)))
        count = np.bincount(pair)
        arrivals = np.bincount(pair * states + there, minlength=len(row) * states)
        transition = torch.from_numpy(arrivals.reshape(-1, states) / count[:, None])
        self._change = gamma * transition
        self._change[np.arange(len(row)), here[row]] -= 1
        """Derivatives (pairs, S) of delta by the values."""
        self._log_data = torch.from_numpy(np.log(count / count.sum()))
        """Log shares of the pairs in the data."""
        starts = np.bincount(here[first], minlength=states)
        self._initial = torch.from_numpy(starts / starts.sum())
        self._transition = transition
        self._state = torch.from_numpy(here)
        self._pair = torch.from_numpy(pair)
        self._batch = _one_row_per_pair(torch.from_numpy(row), problem)
        self.table = torch.zeros(skills, states, dtype=torch.float64)

    def draw(self) -> Minibatch:
        """Return one row of every pair; no random number is drawn."""
        return self._batch

    def step(self, batch: Minibatch, reward: Tensor) -> tuple[float, Tensor]:
        """Make a Newton step for rewards (Z, pairs); return loss and delta before it."""
        reward = reward.cpu().double()
        delta = reward + self.table @ self._change.T
        loss = self._losses(reward, self.table).sum()
        self.table = torch.stack(
            [self._newton(*one) for one in zip(reward, self.table, strict=True)]
        )
        return float(loss), delta.float().to(self._device)

    def around(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Values (Z, B) before transitions, and mean values after the pairs of transitions."""
        rows = rows.cpu()
        before = self.table[:, self._state[rows]]
        after = (self.table @ self._transition.T)[:, self._pair[rows]]
        return before.float().to(self._device), after.float().to(self._device)

    def parts(self) -> dict[str, AveragedValue]:
        """Return the table, as an object with `state_dict` and `load_state_dict`."""
        return {"value": self}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the table."""
        return {"table": self.table}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
        self.table = state["table"].cpu().clone()

    def _losses(self, reward: Tensor, value: Tensor) -> Tensor:
        """Dual losses of rewards (..., pairs) and values (..., S)."""
        first = (1 - self._gamma) * (value @ self._initial)
        return first + equations.log_mean_exp(reward + value @ self._change.T, self._log_data)

    def _newton(self, reward: Tensor, value: Tensor) -> Tensor:
        """Return values (S,) after one Newton step, shortened until the loss falls enough."""
        weight = torch.softmax(reward + self._change @ value + self._log_data, dim=0)
        mean = self._change.T @ weight
        gradient = (1 - self._gamma) * self._initial + mean
        if float(gradient.abs().max()) < SMALLEST_GRADIENT:
            return value
        hessian = self._change.T @ (weight[:, None] * self._change) - mean.outer(mean)
        # A constant added to all values does not change the loss, so the Hessian is singular.
        solved = torch.linalg.lstsq(hessian, -gradient[:, None], rcond=1e-14, driver="gelsd")
        direction = solved.solution[:, 0]
        slope = float(gradient @ direction)
        loss = float(self._losses(reward, value))
        size = 1.0
        while size > SMALLEST_NEWTON_STEP:
            moved = value + size * direction
            if float(self._losses(reward, moved)) <= loss + DESCENT * size * slope:
                return moved
            size /= 2
        return value


def _numbered(values: Tensor) -> tuple[int, np.ndarray]:
    """Number the distinct rows; return their count and the number of each row."""
    different, number = np.unique(values.cpu().numpy(), axis=0, return_inverse=True)
    return len(different), number.reshape(-1)


def _check_sample(name: str, values: Tensor, most: int) -> None:
    """Refuse continuous data before all rows are sorted, which takes long."""
    step = max(1, len(values) // SAMPLE)
    different, number = _numbered(values[::step])
    if different > most:
        raise SoloError(
            f"value.averaged: {different} different {name} in a sample of {len(number)}. Expected "
            f"discrete data with at most {MOST_TABLE_STATES} states and {MOST_PAIRS} pairs of "
            "state and action. Use --no-value.averaged for other data."
        )


def _check_size(rows: int, pairs: int, states: int) -> None:
    """Refuse data with many states, many pairs or few transitions per pair."""
    if rows < FEWEST_REPEATS * pairs or pairs > MOST_PAIRS or states > MOST_TABLE_STATES:
        raise SoloError(
            f"value.averaged: the data have {pairs} different pairs of state and action in {rows} "
            f"transitions, and {states} states. Expected discrete data with {FEWEST_REPEATS} "
            f"transitions per pair or more, at most {MOST_PAIRS} pairs and {MOST_TABLE_STATES} "
            "states. Use --no-value.averaged for other data."
        )


def _check_left(never: int) -> None:
    """Refuse states without a pair: no occupancy reaches them, so the dual has no minimum."""
    if never:
        raise SoloError(
            f"value.averaged: {never} states of the data are reached but never left. Expected a "
            "transition from every state. Use --no-value.averaged, or add transitions of terminal "
            "states to themselves, to the data and to the expert's."
        )


def _one_row_per_pair(rows: Tensor, problem: Problem) -> Minibatch:
    """Return a minibatch of trajectory pieces of one transition each, and all initial states."""
    rows = rows[:, None].to(problem.device)
    states = torch.cat([problem.here[rows], problem.there[rows]], dim=1)
    return Minibatch(Windows(rows, states, torch.ones_like(rows)), problem.here[problem.first])
