"""Phase 2: measures of the difference between skills, and rewards for differing."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from . import equations
from .background import Submit, call_at_once
from .diagnostics import TrainingError
from .networks import Ensemble
from .train_config import TrainConfig
from .training_data import Problem


class Diversity(Protocol):
    """A learned measure of the difference between skills."""

    def fit(self, rows: Tensor, log_w: Tensor, submit: Submit = call_at_once) -> dict[str, float]:
        """Learn from transitions (B,) and every skill's log weights (Z, B); return metrics.

        Independent parts of the work are given to `submit`.
        """

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Diversity (Z, B) of transitions in an outer step."""

    def parts(self) -> dict[str, Any]:
        """Objects that change in training, with `state_dict` and `load_state_dict`."""


SMALLEST = 1e-300
"""Smallest denominator; keeps 0 / 0 finite."""


class Discriminator:
    """Ensemble q(z | s). Its reward is log(q |Z|) / |Z|, with a bonus where members disagree."""

    def __init__(self, problem: Problem, config: TrainConfig, generator: torch.Generator) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self._problem = problem
        self._skills = config.skills
        self._generator = generator
        options = config.discriminator
        self.options = options
        inputs = problem.discriminator_input.shape[1]
        network = Ensemble(inputs, options.hidden, config.skills, options.members, generator)
        self.network = network.to(problem.device)
        # Each share of the members learns in its own thread.
        self._shares = self.network.split(min(2, config.torch_threads, options.members))
        self._optimisers = [
            torch.optim.Adam(share.parameters, fused=True, lr=options.lr) for share in self._shares
        ]

    def fit(self, rows: Tensor, log_w: Tensor, submit: Submit = call_at_once) -> dict[str, float]:
        """Maximise E_z E_dz[log q(z|s)].

        States are drawn from the mixture of all skills and labelled with the probability of each
        skill. The expectation is the same as with evenly drawn states weighted by eta_z, and its
        variance is much smaller.
        """
        seen = ~self._problem.held_out[rows]
        rows = rows[seen]
        w = log_w[:, seen].exp()
        # Every skill gets the same probability, however much of it is held out.
        w = w / w.sum(1, keepdim=True).clamp(min=SMALLEST)
        mixture = w.mean(0)
        if not float(mixture.sum()):
            raise TrainingError(
                "All weight of the skills lies on trajectories that are withheld from the "
                "discriminator. Lower discriminator.held_out, or use more trajectories."
            )
        posterior = (w / w.sum(0).clamp(min=SMALLEST)).float()  # (Z, B)
        shape = (self.options.updates, self.options.batch)
        drawn = torch.multinomial(
            mixture.cpu(), math.prod(shape), replacement=True, generator=self._generator
        )
        drawn = drawn.reshape(shape).to(rows.device)
        # Members share only the data, so no share waits for another.
        last_share = len(self._shares) - 1
        futures = [
            submit(partial(self._learn, number, rows, posterior, drawn))
            for number in range(last_share)
        ]
        last = self._learn(last_share, rows, posterior, drawn)
        log_q = torch.cat([*(future.result() for future in futures), last])
        label = posterior[:, drawn[-1]]  # metrics of the last minibatch suffice
        loss = equations.discriminator_loss(log_q, label * self._skills)
        return {
            "loss/discriminator": float(loss),
            "discriminator_accuracy": float(named_right(log_q, label)),
        }

    def _learn(self, number: int, rows: Tensor, posterior: Tensor, drawn: Tensor) -> Tensor:
        """Fit a share of the members; return log probabilities (K, Z, B) of the last minibatch."""
        members = self._shares[number]
        optimiser = self._optimisers[number]
        log_q = posterior.new_zeros(0)
        for batch in drawn:
            log_q = members(self._problem.discriminator_input[rows[batch]])
            loss = equations.discriminator_loss(log_q, posterior[:, batch] * self._skills)
            optimiser.zero_grad(set_to_none=True)
            (loss * (len(log_q) / self.options.members)).backward()
            optimiser.step()
        return log_q.detach()

    @torch.no_grad()
    def term(self, rows: Tensor, outer: int) -> Tensor:
        """log(q |Z|) / |Z| and the disagreement bonus, which may fade over outer steps."""
        options = self.options
        members = self.network(self._problem.discriminator_input[rows])
        log_q = equations.ensemble_log_prob(members)
        term = equations.diversity_term(log_q, self._skills, options.log_floor)
        fade = 1.0
        if options.disdain_steps:
            fade = 1 - outer / options.disdain_steps
        return term + options.disdain * max(0.0, fade) * equations.disdain_bonus(members)

    @torch.no_grad()
    def held_out_accuracy(self, log_w: Tensor) -> float | None:
        """Accuracy on held-out trajectories, None without any; `log_w` (Z, N) are all weights."""
        rows = self._problem.held_out.nonzero()[:, 0]
        w = log_w[:, rows].exp()
        if not len(rows) or not float(w.sum()):
            return None
        named = []
        for chunk in rows.split(8192):
            members = self.network(self._problem.discriminator_input[chunk])
            named.append(equations.ensemble_log_prob(members).argmax(0))
        w = w / w.sum(1, keepdim=True).clamp(min=SMALLEST)
        return float(w.gather(0, torch.cat(named)[None]).sum() / len(w))

    def parts(self) -> dict[str, Any]:
        """Weights and optimisers."""
        parts: dict[str, Any] = {"discriminator": self.network}
        for number, optimiser in enumerate(self._optimisers):
            parts[f"discriminator_optimiser_{number}"] = optimiser
        return parts


class VanDerWaals:
    """Force between the mean features of skills [Dual-Force]. It has no network to train."""

    def __init__(self, problem: Problem, config: TrainConfig, generator: torch.Generator) -> None:
        """Start from small random mean features; between equal ones all forces would be zero."""
        self._features = problem.discriminator_input
        self._reach = config.reach
        size = (config.skills, self._features.shape[1])
        self.expected = 0.1 * torch.randn(size, generator=generator).to(problem.device)

    def fit(self, rows: Tensor, log_w: Tensor, submit: Submit = call_at_once) -> dict[str, float]:
        """Compute the mean features of every skill."""
        self.expected = (log_w.exp() @ self._features[rows].double()).float()
        _, distance = equations.nearest(self.expected)
        return {"skills/distance": float(distance.mean())}

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Reward for features that lead away from the nearest skill; `outer` is not used."""
        _, distance = equations.nearest(self.expected)
        strength = equations.van_der_waals(distance, self._reach)
        reward = equations.successor_reward(self._features[rows], self.expected, strength)
        return reward / len(self.expected)

    def parts(self) -> dict[str, Any]:
        """Mean features."""
        return {"features": self}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the mean features."""
        return {"expected": self.expected}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
        self.expected = state["expected"].to(self._features.device, copy=True)


def make_diversity(problem: Problem, config: TrainConfig, generator: torch.Generator) -> Diversity:
    """Make the measure that `config.diversity` names."""
    if config.diversity == "van_der_waals":
        return VanDerWaals(problem, config, generator)
    return Discriminator(problem, config, generator)


def named_right(log_q: Tensor, label: Tensor) -> Tensor:
    """Mean probability, under labels (Z, B), of the skill that the members (K, Z, B) predict."""
    return label.gather(0, equations.ensemble_log_prob(log_q).argmax(0)[None]).mean()
