"""Minibatches of trajectory pieces: neighbouring transitions share a state, whose value is computed once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .training_data import Problem


@dataclass(frozen=True)
class Windows:
    """W pieces of L transitions."""

    rows: Tensor  # (W, L) numbers of the transitions
    states: Tensor  # (W, L + 2), or (W, 2 L) if not linked: states that are needed
    following: Tensor  # (W, L) where in `states` each transition's next state lies

    def split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Values (Z, states) of the states to values here and there, both (Z, W L)."""
        skills, length = len(values), self.rows.shape[1]
        values = values.view(skills, *self.states.shape)
        there = values.gather(2, self.following.expand(skills, -1, -1))
        return values[..., :length].flatten(1), there.flatten(1)


def sample_windows(
    problem: Problem, count: int, length: int, generator: torch.Generator
) -> Windows:
    """Draw pieces in which every transition is as likely as any other.

    A piece that reaches the end of its trajectory goes on at the beginning: without that, transitions near the
    ends would be drawn less often, and expectations over the data would be wrong.
    """
    device = problem.here.device
    start = torch.randint(problem.num_rows, (count,), generator=generator).to(device)
    trajectory = problem.trajectory[start]
    first, total = problem.first[trajectory, None], problem.length[trajectory, None]
    step = (start[:, None] - first + torch.arange(length, device=device)) % total
    rows = first + step
    if not problem.linked:
        states = torch.cat([problem.here[rows], problem.there[rows]], dim=1)
        return Windows(
            rows, states, torch.arange(length, 2 * length, device=device).expand(count, -1)
        )
    end = problem.there[first + total - 1]  # the state the trajectory's last transition leads to
    states = torch.cat([problem.here[rows], problem.there[rows[:, -1:]], end], dim=1)
    after = torch.arange(1, length + 1, device=device).expand(count, -1)
    return Windows(rows, states, torch.where(step == total - 1, length + 1, after))
