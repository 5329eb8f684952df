"""Small MDPs with exact solutions, by the code under test and by independent solvers."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from solo_doi.algorithm import equations
from solo_doi.algorithm.doi import hold_remaining
from solo_doi.algorithm.multipliers import Multipliers
from solo_doi.algorithm.train_config import TrainConfig


@dataclass(frozen=True)
class Mdp:
    """An MDP with S states and A actions, and the occupancy of a behaviour policy in it."""

    transition: np.ndarray  # (S, A, S)
    initial: np.ndarray  # (S,)
    gamma: float
    data: np.ndarray  # (S, A) occupancy d_O of a stochastic policy, all positive

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states and of actions."""
        states, actions = self.data.shape
        return states, actions

    def flow_residual(self, occupancy: np.ndarray) -> float:
        """Return the largest violation of the flow constraint.

        sum_a d(s, a) = (1 - gamma) rho_0(s) + gamma sum d(s', a') P(s | s', a').
        """
        inflow = (1 - self.gamma) * self.initial + self.gamma * np.einsum(
            "sa,sat->t", occupancy, self.transition
        )
        return float(np.abs(occupancy.sum(1) - inflow).max())

    def occupancy(self, policy: np.ndarray) -> np.ndarray:
        """Return the discounted state-action occupancy (S, A) of a policy."""
        chain = np.einsum("sa,sat->st", policy, self.transition)
        states = np.linalg.solve(
            np.eye(len(chain)) - self.gamma * chain.T, (1 - self.gamma) * self.initial
        )
        return states[:, None] * policy


def with_uniform_data(transition: np.ndarray, initial: np.ndarray, gamma: float) -> Mdp:
    """Return an MDP with data of the uniform policy."""
    states, actions = transition.shape[:2]
    empty = Mdp(transition, initial, gamma, np.ones((states, actions)))
    return Mdp(transition, initial, gamma, empty.occupancy(np.full((states, actions), 1 / actions)))


def random_mdp(
    states: int, actions: int, gamma: float, seed: int, concentration: float = 0.3
) -> Mdp:
    """Draw transitions from a Dirichlet distribution, initial states and a behaviour policy."""
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(states, concentration), (states, actions))
    initial = rng.dirichlet(np.ones(states))
    empty = Mdp(transition, initial, gamma, np.ones((states, actions)))
    policy = 0.05 + rng.dirichlet(np.ones(actions), states)
    return Mdp(transition, initial, gamma, empty.occupancy(policy / policy.sum(1, keepdims=True)))


def rooms_mdp(rooms: int = 3, gamma: float = 0.9, seed: int = 0) -> Mdp:
    """Return a hall with actions that lead to rooms of two states each.

    The room identifies a skill.
    """
    rng = np.random.default_rng(seed)
    states = 1 + 2 * rooms
    transition = np.zeros((states, rooms, states))
    for action in range(rooms):
        transition[0, action, 1 + 2 * action] = 0.9
        transition[0, action, 1::2] += 0.1 / rooms
        for state in range(1, states):
            leave = (0.02, 0.1, 0.3)[action % 3]
            other = state + 1 if state % 2 else state - 1
            transition[state, action, other] = (1 - leave) * rng.uniform(0.2, 0.8)
            transition[state, action, 0] = leave
            transition[state, action, state] = 1 - transition[state, action].sum()
    initial = np.full(states, 0.2 / (states - 1))
    initial[0] = 0.8
    return with_uniform_data(transition, initial, gamma)


def solve_dual(mdp: Mdp, reward: Tensor, divergence: str = "kl") -> tuple[Tensor, float]:
    """Minimise the dual loss over a table of values with exact expectations.

    Returns log ratios (Z, S A) and the optimum.
    """
    dual = equations.chi_square_loss if divergence == "chi2" else equations.dual_loss
    states, actions = mdp.shape
    transition = torch.from_numpy(mdp.transition).reshape(states * actions, states)
    log_data, log_initial = (
        torch.from_numpy(np.log(mdp.data)).flatten(),
        torch.from_numpy(np.log(mdp.initial)),
    )
    value = torch.zeros(len(reward), states, dtype=torch.float64, requires_grad=True)

    def delta() -> Tensor:
        here = value.repeat_interleave(actions, dim=1)
        return equations.td_error(reward, here, value @ transition.T, mdp.gamma)

    def loss() -> Tensor:
        return dual(value, delta(), mdp.gamma, log_initial, log_data).sum()

    optimiser = torch.optim.LBFGS(
        [value],
        max_iter=2000,
        tolerance_grad=1e-12,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        objective = loss()
        objective.backward()
        return objective

    optimiser.step(closure)
    with torch.no_grad():
        if divergence == "chi2":
            return equations.chi_square_log_ratios(delta()), float(loss())
        return equations.log_ratios(delta(), log_data), float(loss())


def newton_dual(mdp: Mdp, reward: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the same log ratios (S A,) by Newton's method, hundreds of times faster.

    `value` (S,) is updated in place.
    """
    states, actions = mdp.shape
    step = mdp.gamma * mdp.transition.reshape(-1, states) - np.repeat(
        np.eye(states), actions, axis=0
    )
    log_data, start = np.log(mdp.data).ravel(), (1 - mdp.gamma) * mdp.initial

    def weights(value: np.ndarray) -> tuple[float, np.ndarray]:
        exponent = reward + step @ value + log_data
        top = exponent.max()
        log_total = top + np.log(np.exp(exponent - top).sum())
        return start @ value + log_total, exponent - log_total

    objective, log_w = weights(value)
    for _ in range(60):
        w = np.exp(log_w)
        mean = step.T @ w
        gradient = start + mean
        if np.abs(gradient).max() < 1e-9:
            break
        hessian = step.T @ (w[:, None] * step) - np.outer(mean, mean)
        direction = np.linalg.lstsq(hessian, -gradient, rcond=1e-14)[0]
        size = 1.0
        while (trial := weights(value + size * direction))[0] > objective + 1e-4 * size * (
            gradient @ direction
        ):
            size /= 2
            if size < 1e-10:
                break
        value += size * direction
        objective, log_w = trial
    # Not log(exp(log_w)): the weight of a pair that a skill avoids may underflow.
    return log_w - log_data


def solve_primal(mdp: Mdp, reward: np.ndarray, divergence: str = "kl") -> tuple[np.ndarray, float]:
    """Maximise E_d[R] - D(d || d_O) under the flow constraint as a convex program.

    Returns the occupancy (S, A) and the optimum.
    """
    states, actions = mdp.shape
    occupancy = cp.Variable((states, actions), nonneg=True)
    inflow = [
        (1 - mdp.gamma) * mdp.initial[s]
        + mdp.gamma * cp.sum(cp.multiply(occupancy, mdp.transition[:, :, s]))
        for s in range(states)
    ]
    flow = [cp.sum(occupancy[s]) == inflow[s] for s in range(states)]
    # Both distributions sum to one, so the generalised KL divergence is the usual one.
    cost = cp.sum(cp.kl_div(occupancy, mdp.data))
    if divergence == "chi2":
        cost = 0.5 * cp.sum(cp.multiply(1 / mdp.data, cp.square(occupancy - mdp.data)))
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(occupancy, reward)) - cost), flow)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return occupancy.value, float(problem.value)


def mutual_information(occupancy: np.ndarray) -> float:
    """Return I(S; Z) of equally likely skills with state-action occupancies (Z, S, A)."""
    states = occupancy.sum(-1)
    terms = np.where(states > 0, states * np.log(np.maximum(states, 1e-300) / states.mean(0)), 0.0)
    return float(terms.sum(-1).mean())


@dataclass(frozen=True)
class Outcome:
    """Result of the three phases."""

    information: float
    phi: np.ndarray  # (Z,)
    sigma: np.ndarray  # (Z,)


def train_exactly(
    mdp: Mdp, log_eta_expert: np.ndarray, config: TrainConfig, seed: int = 0
) -> Outcome:
    """Run the method with tables instead of networks.

    Values and q are at their optimum; multipliers follow the rule of training.
    """
    states, actions = mdp.shape
    log_data, expert = np.log(mdp.data).ravel(), torch.from_numpy(log_eta_expert)
    noise = np.random.default_rng(seed).normal(size=(config.skills, states))
    log_q = torch.log_softmax(torch.from_numpy(0.1 * noise), dim=0)
    multipliers = Multipliers(config, torch.device("cpu"))
    value = np.zeros((config.skills, states))
    for outer in range(config.outer):
        term = equations.diversity_term(log_q, config.skills, config.discriminator.log_floor)
        reward = equations.skill_reward(
            term.repeat_interleave(actions, dim=1), expert, multipliers.sigma().double(),
            config.diversity_weight, config.data_pull,
        )  # fmt: skip
        log_eta = np.stack(
            [newton_dual(mdp, row, start) for row, start in zip(reward.numpy(), value, strict=True)]
        )
        occupancy = np.exp(log_eta + log_data)
        visited = torch.from_numpy(occupancy.reshape(config.skills, states, actions).sum(-1))
        left = hold_remaining(outer, config)
        if left == 1:
            log_q = torch.log(visited / visited.sum(0) + 1e-300)
        phi = (occupancy * (log_eta - log_eta_expert)).sum(-1)
        multipliers.step(torch.from_numpy(phi), left)
    information = mutual_information(occupancy.reshape(config.skills, states, actions))
    return Outcome(information, phi, multipliers.sigma().numpy())


def best_information(
    mdp: Mdp, log_eta_expert: np.ndarray, skills: int, eps: float, restarts: int
) -> float:
    """Maximise I(S; Z) over policies under every skill's constraint.

    The solver is sequential quadratic programming.
    """
    states, actions = mdp.shape
    transition, initial = torch.from_numpy(mdp.transition), torch.from_numpy(mdp.initial)
    log_expert = torch.from_numpy(log_eta_expert.reshape(states, actions) + np.log(mdp.data))
    eye = torch.eye(states, dtype=torch.float64)

    def occupancy(x: Tensor) -> Tensor:
        policy = torch.softmax(x.reshape(skills, states, actions), -1)
        chain = torch.einsum("zsa,sat->zst", policy, transition)
        start = ((1 - mdp.gamma) * initial).expand(skills, states)[..., None]
        return torch.linalg.solve(eye - mdp.gamma * chain.transpose(1, 2), start) * policy

    def information(x: Tensor) -> Tensor:
        visited = occupancy(x).sum(-1)
        return (visited * torch.log(visited / visited.mean(0))).sum(-1).mean()

    def slack(x: Tensor) -> Tensor:
        d = occupancy(x)
        return eps - (d * (d.log() - log_expert)).sum((-1, -2))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.tensor(x, requires_grad=True)
        value = -information(point)
        value.backward()
        return value.item(), point.grad.numpy()  # type: ignore[union-attr]  # just computed

    constraint = {
        "type": "ineq",
        "fun": lambda x: slack(torch.tensor(x)).numpy(),
        "jac": lambda x: torch.autograd.functional.jacobian(slack, torch.tensor(x)).numpy(),
    }
    rng, found = np.random.default_rng(0), list[float]()
    for _ in range(restarts):
        first = rng.normal(size=skills * states * actions)
        result = minimize(
            loss,
            first,
            jac=True,
            constraints=[constraint],
            method="SLSQP",
            options={"maxiter": 300},
        )
        if slack(torch.tensor(result.x)).min() > -1e-4:
            found.append(-result.fun)
    assert found, f"no start of {restarts} led to policies that keep the constraint"
    return max(found)
