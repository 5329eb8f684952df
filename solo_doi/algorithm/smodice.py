"""SMODICE: classifier of the expert's states, and ratios of the policy that imitates them best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import equations
from .averaged_values import AveragedValue
from .diagnostics import finite
from .minibatches import Minibatch, sample_windows
from .numerics.networks import Classifier, SkillNetwork
from .ratios import normalised, state_values, trajectory_mean
from .train_config import TrainConfig
from .training_data import Problem
from .training_output import Advance


@dataclass(frozen=True)
class Expert:
    """The recovered expert, for every transition of the data."""

    logit: Tensor
    """Scaled log(d_E / d_O) of the state, (N,)."""
    log_w: Tensor
    """Log weights, in double precision, (N,)."""


def recover_expert(
    problem: Problem, config: TrainConfig, generator: torch.Generator, advance: Advance
) -> Expert:
    """Train classifier and dual value; call `advance` after each of `updates(config)` updates."""
    logit = train_classifier(problem, config, generator, advance)
    value = make_value(problem, 1, config, generator)
    for number in range(config.value.expert_updates):
        batch = value.draw()
        loss, _ = value.step(batch, logit[batch.rows][None])
        advance(finite({"loss/expert_value": loss}, f"update {number + 1}"))
    with torch.no_grad():
        here, there = value.around(torch.arange(problem.num_rows, device=problem.device))
        delta = equations.td_error(logit, here, there, config.gamma)
        log_w = normalised(delta, config)[0]
        if config.trajectory_power:
            log_w = trajectory_mean(log_w, problem, config.trajectory_power)
        return Expert(logit, log_w)


def updates(config: TrainConfig) -> int:
    """Return the number of updates that `recover_expert` makes."""
    return config.classifier.updates + config.value.expert_updates


def train_classifier(
    problem: Problem, config: TrainConfig, generator: torch.Generator, advance: Advance
) -> Tensor:
    """Return the scaled reward log(d_E / d_O) of every transition's state, (N,)."""
    options = config.classifier
    inputs = problem.classifier_input.shape[1]
    classifier = Classifier(inputs, options.hidden, generator).to(problem.device)
    optimiser = torch.optim.Adam(classifier.parameters(), lr=options.lr)
    for number in range(options.updates):
        expert = _draw(problem.expert_input, options.batch, generator)
        offline = _draw(problem.classifier_input, options.batch, generator)
        loss = equations.classifier_loss(classifier(expert), classifier(offline))
        if options.gradient_penalty:
            share = torch.rand(options.batch, 1, generator=generator).to(problem.device)
            mixed = (share * expert + (1 - share) * offline).requires_grad_()
            (gradient,) = torch.autograd.grad(classifier(mixed).sum(), mixed, create_graph=True)
            loss = loss + options.gradient_penalty * equations.gradient_penalty(gradient)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        advance(finite({"loss/classifier": float(loss.detach())}, f"update {number + 1}"))
    with torch.no_grad():
        logits = torch.cat(list(map(classifier, problem.classifier_input.split(65536))))
    return options.reward_scale * logits


class DualValue:
    """Value network for Z skills, with its optimiser."""

    def __init__(
        self, problem: Problem, skills: int, config: TrainConfig, generator: torch.Generator
    ) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self.problem = problem
        self.config = config
        self._generator = generator
        options = config.value
        network = SkillNetwork(problem.states.shape[1], options.hidden, 1, skills, generator)
        self.network = network.to(problem.device)
        self.optimiser = torch.optim.Adam(
            self.network.parameters(), fused=True, lr=options.lr, weight_decay=options.weight_decay
        )

    def draw(self) -> Minibatch:
        """Draw the minibatch of one step."""
        options = self.config.value
        problem = self.problem
        windows = sample_windows(problem, options.windows, options.window, self._generator)
        chosen = torch.randint(
            len(problem.first), (options.initial_batch,), generator=self._generator
        )
        return Minibatch(windows, problem.here[problem.first[chosen.to(problem.device)]])

    def step(self, batch: Minibatch, reward: Tensor) -> tuple[float, Tensor]:
        """Make one step on the dual loss with rewards (Z, B); return the loss and delta (Z, B)."""
        windows = batch.windows
        states = self.problem.states[torch.cat([windows.states.flatten(), batch.initial])]
        values = self.network(states)[..., 0]
        in_windows = windows.states.numel()
        here, there = windows.split(values[:, :in_windows])
        delta = equations.td_error(reward, here, there, self.config.gamma)
        dual_loss = equations.dual_loss
        if self.config.divergence == "chi2":
            dual_loss = equations.chi_square_loss
        loss = dual_loss(values[:, in_windows:], delta, self.config.gamma).sum()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return float(loss.detach()), delta.detach()

    @torch.no_grad()
    def around(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Values (Z, B) of the states before and after many transitions."""
        problem = self.problem
        here = problem.here[rows]
        there = problem.there[rows]
        if len(rows) == problem.num_rows:
            values = state_values(problem.states, self.network)  # neighbours share states
            return values[:, here], values[:, there]
        both = problem.states[torch.cat([here, there])]
        before, after = state_values(both, self.network).chunk(2, dim=1)
        return before, after

    def parts(self) -> dict[str, Any]:
        """Objects that change in training, with `state_dict` and `load_state_dict`."""
        return {"value": self.network, "value_optimiser": self.optimiser}


def make_value(
    problem: Problem, skills: int, config: TrainConfig, generator: torch.Generator
) -> DualValue | AveragedValue:
    """Make values of Z skills: networks, or tables with means over next states."""
    if config.value.averaged:
        return AveragedValue(problem, skills, config.gamma)
    return DualValue(problem, skills, config, generator)


def _draw(inputs: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return inputs[torch.randint(len(inputs), (count,), generator=generator).to(inputs.device)]
