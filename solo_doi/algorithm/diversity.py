"""Phase 2: what tells skills apart, and the reward for being told apart."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from . import equations
from .background import Run, at_once
from .diagnostics import TrainingError
from .networks import Ensemble
from .train_config import TrainConfig
from .training_data import Problem


class Diversity(Protocol):
    """A measure of difference between skills that can be learned and followed."""

    def fit(self, rows: Tensor, log_w: Tensor, run: Run = at_once) -> dict[str, float]:
        """Learn from transitions (B,) and every skill's log weights (Z, B) on them; return what to log.

        What can be done beside other things is given to `run`.
        """

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Diversity (Z, B) of transitions in an outer step."""

    def parts(self) -> dict[str, Any]:
        """All that changes in training, as objects with `state_dict` and `load_state_dict`."""


SMALLEST = 1e-300
"""Keeps quotients of nothing by nothing finite."""


class Discriminator:
    """An ensemble q(z | s), and log(q |Z|) / |Z| with a bonus where its members disagree."""

    def __init__(self, problem: Problem, config: TrainConfig, generator: torch.Generator) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self._problem, self._skills, self._generator = problem, config.skills, generator
        self.options = options = config.discriminator
        inputs = problem.discriminator_input.shape[1]
        self.network = Ensemble(
            inputs, options.hidden, config.skills, options.members, generator
        ).to(problem.device)
        self._shares = self.network.split(
            min(2, config.torch_threads, options.members)
        )  # learn side by side
        self._optimisers = [
            torch.optim.Adam(share.parameters, fused=True, lr=options.lr) for share in self._shares
        ]

    def fit(self, rows: Tensor, log_w: Tensor, run: Run = at_once) -> dict[str, float]:
        """Maximise E_z E_dz[log q(z|s)].

        States are drawn from the mixture of all skills, and labelled with how likely each skill is there: the same
        expectation as weighting evenly drawn states by eta_z, with far less variance.
        """
        seen = ~self._problem.held_out[rows]
        rows, w = rows[seen], log_w[:, seen].exp()
        w = w / w.sum(1, keepdim=True).clamp(
            min=SMALLEST
        )  # every skill is as likely, whatever was withheld of it
        mixture = w.mean(0)
        if not float(mixture.sum()):
            raise TrainingError(
                "All weight of the skills lies on trajectories that are withheld from the discriminator. Lower "
                "discriminator.held_out, or use more trajectories."
            )
        posterior = (w / w.sum(0).clamp(min=SMALLEST)).float()  # (Z, B)
        shape = (self.options.updates, self.options.batch)
        drawn = torch.multinomial(
            mixture.cpu(), math.prod(shape), replacement=True, generator=self._generator
        )
        drawn = drawn.reshape(shape).to(rows.device)
        # Members have nothing in common but the data, so that no share ever waits for another.
        *others, mine = [
            partial(self._learn, number, rows, posterior, drawn)
            for number in range(len(self._shares))
        ]
        beside = [run(learn) for learn in others]
        last = mine()
        log_q = torch.cat([*(learned.result() for learned in beside), last])
        label = posterior[:, drawn[-1]]  # what is told of the last minibatch is enough
        loss = equations.discriminator_loss(log_q, label * self._skills)
        return {
            "loss/discriminator": float(loss),
            "discriminator_accuracy": float(named_right(log_q, label)),
        }

    def _learn(self, number: int, rows: Tensor, posterior: Tensor, drawn: Tensor) -> Tensor:
        """Fit a share of the members to all minibatches; return its log probabilities (K, Z, B) of the last one."""
        members, optimiser = self._shares[number], self._optimisers[number]
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
        """log(q |Z|) / |Z| and the bonus, which fades."""
        options = self.options
        members = self.network(self._problem.discriminator_input[rows])
        log_q = equations.ensemble_log_prob(members)
        term = equations.diversity_term(log_q, self._skills, options.log_floor)
        fade = 1 - outer / options.disdain_steps if options.disdain_steps else 1.0
        return term + options.disdain * max(0.0, fade) * equations.disdain_bonus(members)

    @torch.no_grad()
    def held_out_accuracy(self, log_w: Tensor) -> float | None:
        """How often it names the skill, on trajectories it never saw, given log weights (Z, N) of all data."""
        rows = self._problem.held_out.nonzero()[:, 0]
        w = log_w[:, rows].exp()
        if not len(rows) or not float(w.sum()):
            return None
        named = torch.cat([
            equations.ensemble_log_prob(self.network(self._problem.discriminator_input[chunk])).argmax(0)
            for chunk in rows.split(8192)
        ])  # fmt: skip
        w = w / w.sum(1, keepdim=True).clamp(min=SMALLEST)
        return float(w.gather(0, named[None]).sum() / len(w))

    def parts(self) -> dict[str, Any]:
        """Weights and optimisers."""
        optimisers = {
            f"discriminator_optimiser_{number}": one for number, one in enumerate(self._optimisers)
        }
        return {"discriminator": self.network, **optimisers}


class VanDerWaals:
    """A force between the skills' mean features [Dual-Force]: no network, nothing that could collapse."""

    def __init__(self, problem: Problem, config: TrainConfig, generator: torch.Generator) -> None:
        """Start with mean features that hardly differ, from `generator`: of equal ones, all forces would be zero."""
        self._features, self._reach = problem.discriminator_input, config.reach
        size = (config.skills, self._features.shape[1])
        self.expected = 0.1 * torch.randn(size, generator=generator).to(problem.device)

    def fit(self, rows: Tensor, log_w: Tensor, run: Run = at_once) -> dict[str, float]:
        """Mean features of every skill."""
        self.expected = (log_w.exp() @ self._features[rows].double()).float()
        _, distance = equations.nearest(self.expected)
        return {"skills/distance": float(distance.mean())}

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Reward for features away from the nearest skill's; `outer` plays no part."""
        _, distance = equations.nearest(self.expected)
        strength = equations.van_der_waals(distance, self._reach)
        return equations.successor_reward(self._features[rows], self.expected, strength) / len(
            self.expected
        )

    def parts(self) -> dict[str, Any]:
        """Mean features."""
        return {"features": self}

    def state_dict(self) -> dict[str, Tensor]:
        """Mean features, as a file can hold them."""
        return {"expected": self.expected}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
        self.expected = state["expected"].to(self._features.device, copy=True)


def make_diversity(problem: Problem, config: TrainConfig, generator: torch.Generator) -> Diversity:
    """Build what `config.diversity` names."""
    kinds: dict[str, type[Discriminator] | type[VanDerWaals]] = {
        "discriminator": Discriminator, "van_der_waals": VanDerWaals,
    }  # fmt: skip
    return kinds[config.diversity](problem, config, generator)


def named_right(log_q: Tensor, label: Tensor) -> Tensor:
    """Mean probability (Z, B) of the skill that the members (K, Z, B) name together."""
    return label.gather(0, equations.ensemble_log_prob(log_q).argmax(0)[None]).mean()
