"""SMODICE: a classifier of the expert's states, and the ratios of the policy that visits them most nearly."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from . import equations
from .diagnostics import Advance, finite
from .minibatches import Windows, sample_windows
from .networks import Classifier, SkillNetwork
from .ratios import normalised, state_values
from .train_config import TrainConfig
from .training_data import Problem


@dataclass(frozen=True)
class Expert:
    """What SMODICE found, for every transition of the data."""

    logit: Tensor  # (N,) log(d_E / d_O) of the state, scaled
    log_w: Tensor  # (N,) log weights of the recovered expert, double precision


def recover_expert(
    problem: Problem, config: TrainConfig, generator: torch.Generator, advance: Advance
) -> Expert:
    """Train classifier and dual value; `advance` is called after each of `updates(config)` updates."""
    logit = train_classifier(problem, config, generator, advance)
    value = DualValue(problem, 1, config, generator)
    for number in range(config.value.expert_updates):
        batch = value.draw()
        loss, _ = value.step(batch, logit[batch.rows][None])
        advance(finite({"loss/expert_value": loss}, f"update {number + 1}"))
    with torch.no_grad():
        values = state_values(problem.states, value.network)
        delta = equations.td_error(
            logit, values[:, problem.here], values[:, problem.there], config.gamma
        )
        return Expert(logit, normalised(delta, config)[0])


def updates(config: TrainConfig) -> int:
    """How many updates `recover_expert` makes."""
    return config.classifier.updates + config.value.expert_updates


def train_classifier(
    problem: Problem, config: TrainConfig, generator: torch.Generator, advance: Advance
) -> Tensor:
    """Return the reward log(d_E / d_O), scaled, of every transition's state, (N,)."""
    options = config.classifier
    classifier = Classifier(problem.classifier_input.shape[1], options.hidden, generator).to(
        problem.device
    )
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
        logits = torch.cat([classifier(chunk) for chunk in problem.classifier_input.split(65536)])
    return options.reward_scale * logits


@dataclass(frozen=True)
class Minibatch:
    """What one step of the dual problem works on."""

    windows: Windows
    initial: Tensor  # (I,) states that trajectories start from

    @property
    def rows(self) -> Tensor:
        """Transitions, (B,)."""
        return self.windows.rows.flatten()


class DualValue:
    """A value network for Z skills and its optimiser: one method is one step of the dual problem."""

    def __init__(
        self, problem: Problem, skills: int, config: TrainConfig, generator: torch.Generator
    ) -> None:
        """Draw weights from `generator`, which also draws minibatches."""
        self.problem, self.config, self._generator = problem, config, generator
        options = config.value
        network = SkillNetwork(problem.states.shape[1], options.hidden, 1, skills, generator)
        self.network = network.to(problem.device)
        self.optimiser = torch.optim.Adam(
            self.network.parameters(), fused=True, lr=options.lr, weight_decay=options.weight_decay
        )

    def draw(self) -> Minibatch:
        """Draw what one step works on."""
        options, problem = self.config.value, self.problem
        windows = sample_windows(problem, options.windows, options.window, self._generator)
        chosen = torch.randint(
            len(problem.first), (options.initial_batch,), generator=self._generator
        )
        return Minibatch(windows, problem.here[problem.first[chosen.to(problem.device)]])

    def step(self, batch: Minibatch, reward: Tensor) -> tuple[float, Tensor]:
        """Minimise the dual loss, given rewards (Z, B) of the transitions; return the loss and their delta (Z, B)."""
        windows = batch.windows
        states = self.problem.states[torch.cat([windows.states.flatten(), batch.initial])]
        values = self.network(states)[..., 0]
        here, there = windows.split(values[:, : windows.states.numel()])
        delta = equations.td_error(reward, here, there, self.config.gamma)
        dual = (
            equations.chi_square_loss if self.config.divergence == "chi2" else equations.dual_loss
        )
        loss = dual(values[:, windows.states.numel() :], delta, self.config.gamma).sum()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return float(loss.detach()), delta.detach()


def _draw(inputs: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return inputs[torch.randint(len(inputs), (count,), generator=generator).to(inputs.device)]
