"""Tensors of given numbers, and minima found by gradient descent."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

close = torch.testing.assert_close


def tensor(*numbers: float) -> Tensor:
    """Return numbers in double precision."""
    return torch.tensor(numbers, dtype=torch.float64)


def log_of(*numbers: float) -> Tensor:
    """Return logarithms in double precision."""
    return tensor(*numbers).log()


def minimised(loss: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """Return the minimum of a loss, found by following its gradient."""
    x = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS(
        [x],
        max_iter=500,
        tolerance_grad=1e-12,
        tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss(x)
        value.backward()
        return value

    optimiser.step(closure)
    return x.detach()


def gradient(loss: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Return the gradient of a loss at a point."""
    x = at.clone().requires_grad_()
    (result,) = torch.autograd.grad(loss(x), x)
    return result


numbers = st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=20)
tame = st.lists(st.floats(-30, 30), min_size=2, max_size=20)
