"""Device that training runs on, and its memory."""

from __future__ import annotations

import ctypes
import sys

import torch

from solo_doi.common.errors import ALL_CHECKS, SoloError

TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
"""Parameters of mallopt, from glibc's malloc.h."""
LARGEST = 2**31 - 1


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


def keep_memory() -> None:
    """Make glibc's allocator keep large freed blocks; elsewhere, do nothing.

    Reusing freed memory is faster than requesting it from the system again.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, LARGEST)
