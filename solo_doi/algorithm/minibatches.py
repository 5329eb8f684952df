"""Minibatches of trajectory pieces. Neighbouring transitions share a state and its value."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .training_data import Problem


@dataclass(frozen=True)
class Windows:
    """W pieces of L transitions."""

    rows: Tensor
    """Row numbers of the transitions, (W, L)."""
    states: Tensor
    """Numbers of all states involved, (W, L + 2), or (W, 2 L) if transitions are not linked."""
    following: Tensor
    """Position in `states` of each transition's next state, (W, L)."""

    def split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Split values (Z, states) into those before and after each transition, both (Z, W L)."""
        skills = len(values)
        length = self.rows.shape[1]
        values = values.view(skills, *self.states.shape)
        there = values.gather(2, self.following.expand(skills, -1, -1))
        return values[..., :length].flatten(1), there.flatten(1)


@dataclass(frozen=True)
class Minibatch:
    """Data of one step of the dual problem."""

    windows: Windows
    """Trajectory pieces."""
    initial: Tensor
    """Numbers of initial states, (I,)."""

    @property
    def rows(self) -> Tensor:
        """Transitions, (B,)."""
        return self.windows.rows.flatten()


def sample_windows(
    problem: Problem, count: int, length: int, generator: torch.Generator
) -> Windows:
    """Draw pieces in which every transition is equally likely.

    A piece that reaches the end of its trajectory continues at the beginning. Otherwise transitions
    near the ends would be drawn less often, and expectations over the data would be biased.
    """
    device = problem.here.device
    start = torch.randint(problem.num_rows, (count,), generator=generator).to(device)
    trajectory = problem.trajectory[start]
    first = problem.first[trajectory, None]
    total = problem.length[trajectory, None]
    step = (start[:, None] - first + torch.arange(length, device=device)) % total
    rows = first + step
    if not problem.linked:
        states = torch.cat([problem.here[rows], problem.there[rows]], dim=1)
        following = torch.arange(length, 2 * length, device=device).expand(count, -1)
        return Windows(rows, states, following)
    end = problem.there[first + total - 1]  # state after the trajectory's last transition
    states = torch.cat([problem.here[rows], problem.there[rows[:, -1:]], end], dim=1)
    after = torch.arange(1, length + 1, device=device).expand(count, -1)
    return Windows(rows, states, torch.where(step == total - 1, length + 1, after))
