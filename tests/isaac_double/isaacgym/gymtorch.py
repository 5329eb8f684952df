"""Between gymapi's tensors and torch's: views and addresses, never copies."""

from __future__ import annotations

import weakref

import torch

from ._rules import require
from .gymapi import Tensor

KINDS = {
    torch.float32: "float32",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float64: "float64",
}


def wrap_tensor(
    gym_tensor: Tensor, offsets: tuple | None = None, counts: tuple | None = None
) -> torch.Tensor:
    """Return a torch view of Isaac Gym's memory."""
    require(offsets is None and counts is None, "the double wraps whole tensors only")
    return torch.from_numpy(gym_tensor.values)


def unwrap_tensor(torch_tensor: torch.Tensor) -> Tensor:
    """Return the address of a torch tensor, which must outlive its readers."""
    require(torch_tensor.is_contiguous(), "unwrap_tensor: the tensor must be contiguous")
    return Tensor(
        torch_tensor.detach().numpy(), KINDS[torch_tensor.dtype], weakref.ref(torch_tensor)
    )
