"""Device that training runs on."""

from __future__ import annotations

import torch

from solo_doi.common.errors import ALL_CHECKS, SoloError


def pick_device(name: str) -> torch.device:
    """Return the device of a name: cpu, cuda, or auto for cuda if there is one.

    Raises:
        SoloError: The name is unknown, or there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise SoloError(f"device {name!r}: expected cpu, cuda or auto.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SoloError(
            f"device cuda: PyTorch finds no CUDA device here. Use --device cpu. ({ALL_CHECKS})"
        )
    return device
