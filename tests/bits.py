"""Weights compared to the last bit."""

from __future__ import annotations

import torch


def differing(one: object, other: object, name: str = "") -> list[str]:
    """Return the names of tensors and numbers that differ between two nested structures."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return [] if torch.equal(one, other) else [name]
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differing(one[key], other[key], f"{name}.{key}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for i, (a, b) in pairs for found in differing(a, b, f"{name}[{i}]")]
    return [] if one == other else [name]
