"""Skill policies by weighted behaviour cloning."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from . import equations
from .diagnostics import finite
from .numerics.networks import SkillNetwork
from .part_configs import PolicyConfig
from .ratios import averaged_by_trajectory
from .training_data import Problem
from .training_output import Advance

LOG_STD_RANGE = (-5.0, 2.0)
"""Limits of the log deviation of a scaled action."""
MEAN_LIMIT = 7.24
"""Largest mean before the tanh; its tanh is 1 in single precision."""
MAX_GRADIENT = 5.0
"""Norm at which gradients are clipped."""


class PolicyLearner:
    """Policy network of all skills; outputs mean and log deviation of the scaled action."""

    def __init__(
        self, problem: Problem, skills: int, options: PolicyConfig, generator: torch.Generator
    ) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self._problem = problem
        self._options = options
        self._generator = generator
        self._actions = problem.actions.shape[1]
        observations = problem.states.shape[1]
        network = SkillNetwork(observations, options.hidden, 2 * self._actions, skills, generator)
        self.network = network.to(problem.device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), fused=True, lr=options.lr)
        self._log_temperature = torch.zeros((), device=problem.device, requires_grad=True)
        self._temperature_optimiser = torch.optim.Adam([self._log_temperature], lr=options.lr)

    def resampled_step(self, rows: Tensor) -> float:
        """Fit transitions (Z, B), drawn by each skill's weights."""
        skill = torch.arange(len(rows), device=rows.device).repeat_interleave(rows.shape[1])
        rows = rows.flatten()
        states = self._problem.states[self._problem.here[rows]]
        if self._options.noise:
            noise = torch.randn(states.shape, generator=self._generator)
            states = states + self._options.noise * noise.to(states.device)
        output = self.network.of_skill(self._clipped(states), skill)
        return self._descend(*self._split(output), rows, 1.0)

    def weighted_step(self, rows: Tensor, eta: Tensor) -> float:
        """Fit transitions (B,), drawn evenly, with each skill's ratios (Z, B) in the loss."""
        output = self.network(self._clipped(self._problem.states[self._problem.here[rows]]))
        return self._descend(*self._split(output), rows, eta)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that changes in training."""
        optimisers = (self.optimiser.state_dict(), self._temperature_optimiser.state_dict())
        return {
            "network": self.network.state_dict(),
            "optimisers": optimisers,
            "log_temperature": self._log_temperature.detach().clone(),
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        self.network.load_state_dict(state["network"])
        optimiser_state, temperature_state = state["optimisers"]
        self.optimiser.load_state_dict(optimiser_state)
        self._temperature_optimiser.load_state_dict(temperature_state)
        with torch.no_grad():
            self._log_temperature.copy_(state["log_temperature"])
        self._generator.set_state(state["generator"].cpu())

    def _clipped(self, states: Tensor) -> Tensor:
        """Return normalised states as the policy sees them."""
        limit = self._options.input_clip
        return states.clamp(-limit, limit) if limit else states

    def _split(self, output: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = output.chunk(2, dim=-1)
        if self._options.squashed:
            mean = mean.clamp(-MEAN_LIMIT, MEAN_LIMIT)
        return mean, log_std.clamp(*LOG_STD_RANGE)

    def _descend(self, mean: Tensor, log_std: Tensor, rows: Tensor, eta: Tensor | float) -> float:
        density = equations.gaussian_log_prob
        if self._options.squashed:
            density = equations.tanh_gaussian_log_prob
        power = self._options.variance_power
        loss = -(eta * density(mean, log_std, self._problem.actions[rows], power)).mean()
        if self._options.entropy:
            loss = loss - self._log_temperature.exp().detach() * self._entropy(mean, log_std)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRADIENT)
        self.optimiser.step()
        return float(loss.detach())

    def _entropy(self, mean: Tensor, log_std: Tensor) -> Tensor:
        """Estimate the entropy from new actions, and update its temperature.

        The temperature rises while the entropy is below minus the number of actions.
        """
        noise = torch.randn(mean.shape, generator=self._generator).to(mean.device)
        entropy = equations.tanh_gaussian_surprise(mean, log_std, noise).mean()
        self._temperature_optimiser.zero_grad()
        (self._log_temperature.exp() * (entropy.detach() + self._actions)).backward()
        self._temperature_optimiser.step()
        return entropy


def clone(
    problem: Problem,
    log_w: Tensor,
    options: PolicyConfig,
    generator: torch.Generator,
    advance: Advance,
) -> SkillNetwork:
    """Fit one network to Z weightings of the data, given as log weights (Z, N)."""
    learner = PolicyLearner(problem, len(log_w), options, generator)
    schedule = torch.optim.lr_scheduler.LinearLR(learner.optimiser, 1.0, 0.01, options.updates)
    w = log_w.exp()
    if options.trajectory_weights:
        w = averaged_by_trajectory(w, problem.trajectory, problem.length)
    cumulative = w.cumsum(dim=1)
    first_averaged = round(options.updates * (1 - options.averaged_share))
    averaged = AveragedModel(learner.network)
    for number in range(options.updates):
        if options.resampled:
            loss = learner.resampled_step(draw_rows(cumulative, options.batch, generator))
        else:
            rows = problem.draw(options.batch, generator)
            loss = learner.weighted_step(rows, (w[:, rows] * problem.num_rows).float())
        losses = finite({"loss/policy": loss}, f"update {number + 1} of cloning")
        schedule.step()
        if number >= first_averaged:
            averaged.update_parameters(learner.network)
        advance(losses)
    if first_averaged < options.updates:
        learner.network.load_state_dict(averaged.module.state_dict())
    return learner.network


def draw_rows(cumulative: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw transitions (Z, count) by weight, given the running sums of the weights (Z, N)."""
    level = torch.rand(len(cumulative), count, generator=generator, dtype=torch.float64)
    level = level.to(cumulative.device)
    rows = torch.searchsorted(cumulative, level * cumulative[:, -1:], right=True)
    return rows.clamp(max=cumulative.shape[1] - 1)
