"""References for the joint update.

They do the same work in plain PyTorch, skill by skill and member by member.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem

GAMMA, LEARNING_RATE = 0.99, 3e-4


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two hidden layers of ReLU."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


class EagerLoop:
    """Trains one SMODICE per skill: own networks, own minibatch, own steps.

    The members of the discriminator follow, one by one.
    """

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        """Networks of the same widths; batches of as many transitions and initial states."""
        self.config = config
        self.batch = config.value.windows * config.value.window
        self.states, self.next_states = problem.states[problem.here], problem.states[problem.there]
        self.initial_states = self.states[problem.first]
        self.actions, self.told = problem.actions, problem.discriminator_input
        self.label = torch.softmax(
            torch.randn(problem.num_rows, config.skills), dim=1
        )  # probabilities of the skills
        inputs, outputs = self.states.shape[1], 2 * self.actions.shape[1]
        self.values = [mlp(inputs, config.value.hidden, 1) for _ in range(config.skills)]
        self.policies = [mlp(inputs, config.policy.hidden, outputs) for _ in range(config.skills)]
        told, members = self.told.shape[1], range(config.discriminator.members)
        self.members = [mlp(told, config.discriminator.hidden, config.skills) for _ in members]
        networks = (*self.values, *self.policies, *self.members)
        self.optimisers = {
            net: torch.optim.Adam(net.parameters(), lr=LEARNING_RATE) for net in networks
        }

    def update(self) -> None:
        """One update of values, policy and discriminator of all skills."""
        for skill in range(self.config.skills):
            rows = torch.randint(len(self.states), (self.batch,))
            eta = self._value_step(skill, rows)
            mean, log_std = self.policies[skill](self.states[rows]).chunk(2, -1)
            self._descend(
                self.policies[skill], -(eta * log_prob(mean, log_std, self.actions[rows])).mean()
            )
        self._discriminator_steps()

    def _value_step(self, skill: int, rows: Tensor) -> Tensor:
        """Descend the dual loss; return the ratios."""
        reward = self._reward(rows)[:, skill]
        initial = torch.randint(len(self.initial_states), (self.config.value.initial_batch,))
        value = self.values[skill]
        delta = (
            reward + GAMMA * value(self.next_states[rows])[:, 0] - value(self.states[rows])[:, 0]
        )
        loss = (1 - GAMMA) * value(self.initial_states[initial]).mean() + torch.logsumexp(delta, 0)
        self._descend(value, loss)
        return torch.softmax(delta.detach(), 0) * len(rows)

    @torch.no_grad()
    def _reward(self, rows: Tensor) -> Tensor:
        """Log q of the members' mean, and DISDAIN's bonus where they disagree."""
        q = torch.stack([torch.softmax(member(self.told[rows]), dim=-1) for member in self.members])
        bonus = entropy(q.mean(0)) - entropy(q).mean(0)
        return q.mean(0).log() + self.config.discriminator.disdain * bonus[:, None]

    def _discriminator_steps(self) -> None:
        rows = torch.randint(len(self.states), (self.config.discriminator.batch,))
        for member in self.members:
            log_q = torch.log_softmax(member(self.told[rows]), dim=-1)
            self._descend(member, -(self.label[rows] * log_q).mean())

    def _descend(self, network: nn.Module, loss: Tensor) -> None:
        self.optimisers[network].zero_grad()
        loss.backward()
        self.optimisers[network].step()


class SharedEagerLoop(EagerLoop):
    """One-hot skills beside the state, one minibatch for all skills, their losses summed.

    q and Adam run only once.
    """

    def __init__(self, problem: Problem, config: TrainConfig) -> None:
        """One network for all skills, of the same widths."""
        super().__init__(problem, config)
        inputs, outputs = self.states.shape[1] + config.skills, 2 * self.actions.shape[1]
        self.values, self.policies = (
            [mlp(inputs, config.value.hidden, 1)],
            [mlp(inputs, config.policy.hidden, outputs)],
        )
        networks = (self.values[0], self.policies[0])
        self.optimisers |= {
            net: torch.optim.Adam(net.parameters(), lr=LEARNING_RATE) for net in networks
        }

    def update(self) -> None:
        """One update of values, policy and discriminator of all skills."""
        rows = torch.randint(len(self.states), (self.batch,))
        initial = torch.randint(len(self.initial_states), (self.config.value.initial_batch,))
        batches = self.states[rows], self.next_states[rows], self.initial_states[initial]
        reward, value_loss, policy_loss = self._reward(rows), torch.zeros(()), torch.zeros(())
        for skill in range(self.config.skills):
            value, following, first = (
                self.values[0](self._with(states, skill))[:, 0] for states in batches
            )
            delta = reward[:, skill] + GAMMA * following - value
            value_loss = value_loss + (1 - GAMMA) * first.mean() + torch.logsumexp(delta, 0)
            mean, log_std = self.policies[0](self._with(batches[0], skill)).chunk(2, -1)
            eta = torch.softmax(delta.detach(), 0) * self.batch
            policy_loss = policy_loss - (eta * log_prob(mean, log_std, self.actions[rows])).mean()
        self._descend(self.values[0], value_loss)
        self._descend(self.policies[0], policy_loss)
        self._discriminator_steps()

    def _with(self, states: Tensor, skill: int) -> Tensor:
        code = torch.zeros(len(states), self.config.skills)
        code[:, skill] = 1.0
        return torch.cat([states, code], dim=1)


def entropy(q: Tensor) -> Tensor:
    """Entropy over the last axis."""
    return -(q * q.log()).sum(-1)


def log_prob(mean: Tensor, log_std: Tensor, action: Tensor) -> Tensor:
    """Log density of actions before their tanh, up to a constant of the data."""
    return (
        torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        .log_prob(action.atanh())
        .sum(-1)
    )
