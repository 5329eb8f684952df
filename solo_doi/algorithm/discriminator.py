"""Skill discriminator: an ensemble that predicts the skill from a state, and its reward."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import equations
from .clusters import Clusters, describe_behaviour
from .diagnostics import TrainingError
from .numerics.background import Submit, call_at_once
from .numerics.networks import Ensemble
from .train_config import TrainConfig
from .training_data import Problem

SMALLEST = 1e-300
"""Smallest denominator; keeps 0 / 0 finite."""
MOST_DRAWN_FROM = 2**24
"""Largest number of rows that torch draws from by weight."""


class Discriminator:
    """Ensemble q(z | s). Its reward is log(q |Z|) / |Z|, with a bonus where members disagree."""

    def __init__(
        self,
        problem: Problem,
        log_w_expert: Tensor,
        config: TrainConfig,
        generator: torch.Generator,
    ) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self._problem = problem
        self._log_w_expert = log_w_expert
        self._config = config
        self._skills = config.skills
        self._generator = generator
        options = config.discriminator
        self.options = options
        inputs = problem.discriminator_input.shape[1]
        classes = config.skills + (options.background > 0)
        network = Ensemble(inputs, options.hidden, classes, options.members, generator)
        self.network = network.to(problem.device)
        self._noise_scale = torch.zeros(inputs, device=problem.device)
        if options.noise:
            deviation = describe_behaviour(problem, log_w_expert).deviation
            self._noise_scale = (options.noise * deviation).float()
        # Each share of the members learns in its own thread.
        self._shares = self.network.split(min(2, config.torch_threads, options.members))
        self._optimisers = [
            torch.optim.Adam(share.parameters, fused=True, lr=options.lr) for share in self._shares
        ]

    def start(self, clusters: Clusters) -> None:
        """Learn clusters of trajectories, one per skill, if `options.start` asks for them."""
        if self.options.start != "clusters":
            return
        problem = self._problem
        rows = torch.arange(problem.num_rows, device=problem.device)
        if problem.num_rows > MOST_DRAWN_FROM:
            rows = problem.draw(MOST_DRAWN_FROM, self._generator)
        log_w = clusters.log_weights(problem, self._log_w_expert)[:, rows]
        self.fit(rows, log_w, updates=self.options.start_updates)

    def fit(
        self,
        rows: Tensor,
        log_w: Tensor,
        submit: Submit = call_at_once,
        updates: int | None = None,
    ) -> dict[str, float]:
        """Maximise E_z E_dz[log q(z|s)].

        States are drawn from the mixture of all skills and labelled with the probability of each
        skill. The expectation is the same as with evenly drawn states weighted by eta_z, and its
        variance is much smaller.
        """
        seen = ~self._problem.held_out[rows]
        rows = rows[seen]
        w = log_w[:, seen].exp()
        # Every skill is drawn equally often, whatever share of its weight is held out.
        w = w / w.sum(1, keepdim=True).clamp(min=SMALLEST)
        if self.options.background:
            expert = torch.softmax(self._log_w_expert[rows], dim=0)
            w = torch.cat([w, self.options.background * expert[None]])
        mixture = w.mean(0)
        if not float(mixture.sum()):
            raise TrainingError(
                "All weight of the skills lies on trajectories that are withheld from the "
                "discriminator. Lower discriminator.held_out, or use more trajectories."
            )
        posterior = (w / w.sum(0).clamp(min=SMALLEST)).float()  # (Z, B)
        shape = (updates or self.options.updates, self.options.batch)
        drawn = torch.multinomial(
            mixture.cpu(), math.prod(shape), replacement=True, generator=self._generator
        )
        drawn = drawn.reshape(shape).to(rows.device)
        noise = self._draw_noise(shape)
        # Groups of members share only the data, so they can learn in parallel.
        last_share = len(self._shares) - 1
        futures = [
            submit(partial(self._learn, number, rows, posterior, drawn, noise))
            for number in range(last_share)
        ]
        last = self._learn(last_share, rows, posterior, drawn, noise)
        log_q = torch.cat([*(future.result() for future in futures), last])
        label = posterior[:, drawn[-1]]  # metrics of the last minibatch suffice
        loss = equations.discriminator_loss(log_q, label * len(label))
        of_skills = slice(self._skills)
        accuracy = named_right(log_q[:, of_skills], label[of_skills])
        return {"loss/discriminator": float(loss), "discriminator_accuracy": float(accuracy)}

    def _draw_noise(self, shape: tuple[int, int]) -> Tensor:
        """Draw noise of the inputs, (updates, B, F); of size 1 without noise."""
        if not self.options.noise:
            return torch.zeros(shape[0], 1, 1, device=self._noise_scale.device)
        noise = torch.randn(*shape, len(self._noise_scale), generator=self._generator)
        return noise.to(self._noise_scale.device) * self._noise_scale

    def _learn(
        self, number: int, rows: Tensor, posterior: Tensor, drawn: Tensor, noise: Tensor
    ) -> Tensor:
        """Fit a share of the members; return log probabilities (K, Z, B) of the last minibatch."""
        members = self._shares[number]
        optimiser = self._optimisers[number]
        log_q = posterior.new_zeros(0)
        for batch, error in zip(drawn, noise, strict=True):
            log_q = members(self._problem.discriminator_input[rows[batch]] + error)
            label = posterior[:, batch]
            loss = equations.discriminator_loss(log_q, label * len(label))
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
        term = equations.diversity_term(log_q[: self._skills], self._skills, options.log_floor)
        fade = 1.0
        if options.disdain_steps:
            fade = 1 - outer / options.disdain_steps
        if options.background:
            # Exclude the background: disagreement about it earns no bonus.
            members = torch.log_softmax(members[:, : self._skills], dim=1)
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
            named.append(equations.ensemble_log_prob(members)[: self._skills].argmax(0))
        w = w / w.sum(1, keepdim=True).clamp(min=SMALLEST)
        return float(w.gather(0, torch.cat(named)[None]).sum() / len(w))

    def parts(self) -> dict[str, Any]:
        """Weights and optimisers."""
        parts: dict[str, Any] = {"discriminator": self.network}
        for number, optimiser in enumerate(self._optimisers):
            parts[f"discriminator_optimiser_{number}"] = optimiser
        return parts


def named_right(log_q: Tensor, label: Tensor) -> Tensor:
    """Mean probability, under labels (Z, B), of the skill that the members (K, Z, B) predict.

    Labels of a state may sum to less than one; the state then counts for less.
    """
    right = label.gather(0, equations.ensemble_log_prob(log_q).argmax(0)[None])
    return right.sum() / label.sum()
