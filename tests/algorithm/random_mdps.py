"""Random MDPs with stochastic transitions: data, exact quantities, and the best skills."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cvxpy as cp
import numpy as np

from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.transitions import Transitions
from tests.algorithm.tabular import Mdp, mutual_information, newton_dual, random_mdp

GAMMA = 0.99
"""Discount factor of preset gym-exact."""
ROWS = 100_000
"""Transitions of the behaviour policy."""
EXPERT_ROWS = 50_000
"""States of the expert."""


@dataclass(frozen=True)
class RandomProblem:
    """An MDP, an expert in it, and the settings of the skills, all drawn from one seed."""

    mdp: Mdp
    expert_policy: np.ndarray  # (S, A)
    skills: int
    eps: float

    @classmethod
    def draw(cls, number: int) -> RandomProblem:
        """Draw 5 to 12 states, 2 to 4 actions, 2 or 3 skills, eps of 0.5 to 1.0 log(skills).

        The expert prefers some states, as far as it can reach them without leaving the data.
        """
        rng = np.random.default_rng(1000 + number)
        states = int(rng.integers(5, 13))
        actions = int(rng.integers(2, 5))
        mdp = random_mdp(states, actions, GAMMA, number, rng.uniform(0.1, 0.3))
        preference = np.repeat(5 * rng.normal(size=states), actions)
        log_eta = newton_dual(mdp, preference, np.zeros(states))
        occupancy = mdp.data * np.exp(log_eta).reshape(states, actions)
        skills = 2 + number % 2
        eps = round(rng.uniform(0.5, 1.0) * math.log(skills), 3)
        return cls(mdp, occupancy / occupancy.sum(1, keepdims=True), skills, eps)

    @cached_property
    def expert(self) -> np.ndarray:
        """Occupancy (S, A) of the recovered expert: SMODICE's solution for exact rewards."""
        states, actions = self.mdp.shape
        seen = self.mdp.occupancy(self.expert_policy).sum(1)
        reward = np.repeat(np.log(seen / self.mdp.data.sum(1)), actions)
        log_eta = newton_dual(self.mdp, reward, np.zeros(states))
        return self.mdp.data * np.exp(log_eta).reshape(states, actions)

    def divergence(self, occupancy: np.ndarray) -> float:
        """KL(d || d_E) of an occupancy (S, A) [nats]."""
        some = occupancy > 0
        return float((occupancy[some] * np.log(occupancy[some] / self.expert[some])).sum())

    def write(self, folder: Path) -> np.ndarray:
        """Write data.hdf5 and expert.hdf5; return the number of state and action of every row."""
        behaviour = self.mdp.data / self.mdp.data.sum(1, keepdims=True)
        data, pairs = sampled(self.mdp, behaviour, ROWS, seed=1)
        write_d4rl(folder / "data.hdf5", data)
        write_d4rl(
            folder / "expert.hdf5", sampled(self.mdp, self.expert_policy, EXPERT_ROWS, seed=2)[0]
        )
        return pairs


def sampled(mdp: Mdp, policy: np.ndarray, rows: int, seed: int) -> tuple[Transitions, np.ndarray]:
    """Return trajectories that end with probability 1 - gamma after every step.

    Their rows follow d_O. The second result is the index of the state and action of every row. All
    codes are one-hot.
    """
    rng = np.random.default_rng(seed)
    states, actions = mdp.shape
    lengths = rng.geometric(1 - mdp.gamma, 3 * math.ceil(rows * (1 - mdp.gamma)))
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), rows) + 1]
    lengths[-1] -= lengths.sum() - rows
    starts = np.cumsum(lengths) - lengths
    here = np.empty(rows, dtype=int)
    action = np.empty(rows, dtype=int)
    there = np.empty(rows, dtype=int)
    state = drawn(np.broadcast_to(mdp.initial, (len(lengths), states)), rng)
    for step in range(lengths.max()):
        alive = lengths > step
        row = starts[alive] + step
        here[row] = state[alive]
        action[row] = drawn(policy[here[row]], rng)
        there[row] = drawn(mdp.transition[here[row], action[row]], rng)
        state[alive] = there[row]
    ends = np.zeros(rows, dtype=bool)
    ends[starts + lengths - 1] = True
    one_hot = np.eye(states, dtype=np.float32)
    data = Transitions(
        observations=one_hot[here],
        next_observations=one_hot[there],
        actions=np.eye(actions, dtype=np.float32)[action],
        rewards=np.zeros(rows, dtype=np.float32),
        terminals=np.zeros_like(ends),
        timeouts=ends,
        starts=starts,
        terms={"observation": slice(0, states)},
    )
    return data, here * actions + action


def drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one column per row of probabilities (N, columns)."""
    level = rng.random((len(probability), 1))
    return np.minimum((probability.cumsum(1) < level).sum(1), probability.shape[1] - 1)


def most_information(problem: RandomProblem, eps: float, restarts: int) -> float:
    """Return the largest I(S; Z) that the convex-concave procedure finds over occupancies.

    I is convex in the occupancies. Each step maximises its tangent, log q, under the flow
    constraint and the bound on the divergence, as a cone program. It shares no code with training.
    """
    mdp = problem.mdp
    states, actions = mdp.shape
    occupancy = cp.Variable((states, actions), nonneg=True)
    visited = cp.sum(occupancy, axis=1)
    arrivals = mdp.transition.reshape(-1, states).T @ cp.vec(occupancy, order="C")
    flow = visited == (1 - mdp.gamma) * mdp.initial + mdp.gamma * arrivals
    bound = cp.sum(cp.kl_div(occupancy, problem.expert)) <= eps
    tangent = cp.Parameter(states)
    program = cp.Problem(cp.Maximize(tangent @ visited), [flow, bound])
    rng = np.random.default_rng(0)

    def solution(log_q: np.ndarray) -> np.ndarray:
        tangent.value = log_q
        program.solve(solver=cp.CLARABEL)
        return np.maximum(occupancy.value, 0)

    found = []
    for _ in range(restarts):
        log_q = rng.normal(size=(problem.skills, states))
        information = -1.0
        for _ in range(100):
            before = information
            skills = np.stack([solution(row) for row in log_q])
            information = mutual_information(skills)
            if information - before < 1e-6:
                break
            seen = np.maximum(skills.sum(-1), 1e-12)
            log_q = np.log(seen / seen.sum(0))
        found.append(information)
    return max(found)
