"""The peer of the joint update: the same work written as plain PyTorch, skill by skill and member by member."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from solo_doi.algorithm.config import TrainConfig
from solo_doi.algorithm.problem import Problem


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two hidden layers of ReLU."""
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs)
    )


class EagerLoop:
    """One-hot skills beside the state, one forward pass per term of the loss, one backward pass per network."""

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        """Networks of the same sizes, batches of as many transitions and initial states."""
        self.problem, self.config = problem, config
        self.batch = config.value.windows * config.value.window
        states, skills = problem.states.shape[1], config.skills
        self.value = mlp(states + skills, config.value.hidden, 1)
        self.policy = mlp(states + skills, config.policy.hidden, 2 * problem.actions.shape[1])
        told = problem.discriminator_input.shape[1]
        members = range(config.discriminator.members)
        self.members = nn.ModuleList(mlp(told, config.discriminator.hidden, skills) for _ in members)
        networks = (self.value, self.policy, self.members)
        self.optimisers = [torch.optim.Adam(network.parameters(), lr=3e-4) for network in networks]

    def update(self) -> None:
        """One update of values, policy and discriminator of all skills."""
        problem, skills = self.problem, self.config.skills
        rows = torch.randint(problem.num_rows, (self.batch,))
        here, there = problem.states[problem.here[rows]], problem.states[problem.there[rows]]
        first = problem.states[problem.here[problem.first[torch.randint(len(problem.first), (self.batch,))]]]
        with torch.no_grad():
            told = problem.discriminator_input[rows]
            log_q = torch.stack([torch.log_softmax(member(told), -1) for member in self.members]).exp().mean(0).log()
        value_loss = policy_loss = torch.zeros(())
        eta = []
        for skill in range(skills):
            value, following, initial = (self.value(self._with(x, skill))[:, 0] for x in (here, there, first))
            delta = log_q[:, skill] + 0.99 * following - value
            value_loss = value_loss + 0.01 * initial.mean() + torch.logsumexp(delta, 0)
            eta.append(torch.softmax(delta.detach(), 0) * self.batch)
            mean, log_std = self.policy(self._with(here, skill)).chunk(2, -1)
            normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
            policy_loss = policy_loss - (eta[-1] * normal.log_prob(problem.actions[rows].atanh()).sum(-1)).mean()
        label = torch.stack(eta, -1)
        losses = [torch.log_softmax(member(problem.discriminator_input[rows]), -1) for member in self.members]
        discriminator_loss = -torch.stack([(label * log_prob).mean() for log_prob in losses]).mean()
        for loss, optimiser in zip((value_loss, policy_loss, discriminator_loss), self.optimisers, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _with(self, states: Tensor, skill: int) -> Tensor:
        code = torch.zeros(len(states), self.config.skills)
        code[:, skill] = 1.0
        return torch.cat([states, code], dim=1)
