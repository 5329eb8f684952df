"""Versions and GPU of this machine, and GPUs on which Isaac Gym is known to fail."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import isaacgym.gymapi as gymapi  # before torch: otherwise Isaac Gym raises an error
import isaacgym.gymutil as gymutil
import numpy as np
import torch

NEWEST_ARCHITECTURE = 8
"""Major compute capability of the newest GPUs that Preview 4 supports: Ampere and Ada.

Its PhysX has no code for newer ones: `create_sim` crashes on Hopper (9.0, H100) and on Blackwell
(12.0, RTX 50).
"""

DRIVER_VERSION_FILE = Path("/proc/driver/nvidia/version")
"""File in which the driver states its version."""


def about_machine(device: str) -> dict[str, Any]:
    """Return versions, and name and compute capability of the GPU if torch finds one."""
    driver = None
    if DRIVER_VERSION_FILE.is_file():
        driver = DRIVER_VERSION_FILE.read_text().splitlines()[0]
    version = gymapi.acquire_gym().get_version()
    about: dict[str, Any] = {
        "python": platform.python_version(),
        "isaacgym": f"{version.major}.{version.minor}",
        "torch": torch.__version__,
        "numpy": np.__version__,
        "cuda": torch.version.cuda,
        "device": device,
        "driver": driver,
        "gpu": None,
        "capability": None,
    }
    kind, number = gymutil.parse_device_str(device)
    if kind == "cuda" and torch.cuda.is_available():
        about["gpu"] = torch.cuda.get_device_name(number)
        about["capability"] = list(torch.cuda.get_device_capability(number))
    return about


def refuse_unsupported(about: dict[str, Any]) -> None:
    """Refuse a GPU on which Isaac Gym would crash without a message."""
    capability = about["capability"]
    if capability is not None and capability[0] > NEWEST_ARCHITECTURE:
        raise RuntimeError(
            f"{about['gpu']} has compute capability {capability[0]}.{capability[1]}; Isaac Gym "
            f"Preview 4 crashes on GPUs newer than {NEWEST_ARCHITECTURE}.x. Use --sim warp, "
            "or an older GPU (RTX 20, 30, 40, V100, A100)."
        )
