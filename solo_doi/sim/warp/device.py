"""Warp's devices: choice, message before a compilation, rows of numbers on their way to one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import warp as wp

from solo_doi.common.errors import SoloError
from solo_doi.sim.warp_config import DEVICE_VARIABLE
from solo_doi.solo12.constants import Array

LARGE_MODULE = "mujoco_warp._src.smooth"
"""Part of MuJoCo Warp that every model needs and that takes long to compile."""


def find_device(name: str) -> wp.Device:
    """Return a device by name; a missing GPU is an error, not a reason to use the processor."""
    wp.config.log_level = wp.LOG_WARNING  # by default, Warp prints a line for each of 50 kernels
    try:
        wp.init()
    except OSError as error:
        raise _unwritable(error.filename, error.strerror) from error
    if name == "cuda":
        name = "cuda:0"  # for Warp the current one, which this project never sets
    known = list(map(str, wp.get_devices()))
    if name not in known:
        raise SoloError(
            f"Warp has no device {name!r}, only {', '.join(known)}{missing_gpu()}. "
            f"Set {DEVICE_VARIABLE} to one of them; without a GPU, --sim mujoco is faster than "
            "Warp on the processor."
        )
    return wp.get_device(name)


def _unwritable(cache: object, reason: object) -> SoloError:
    return SoloError(
        f"Warp cannot write its compiled kernels to {cache}: {reason}. "
        "Set WARP_CACHE_PATH to a directory that can be written."
    )


def missing_gpu() -> str:
    """Return why Warp has no GPU and what to do, to be added to a message; empty if it has one."""
    wp.init()
    if wp.get_cuda_device_count():
        return ""
    toolkit, driver = wp.get_cuda_toolkit_version(), wp.get_cuda_driver_version()
    if toolkit is None:
        return " (this build of Warp has no CUDA: install warp-lang from PyPI)"
    needed = f"Warp {wp.__version__} needs one for CUDA {toolkit[0]}.0 or newer"
    if driver is None:
        return f" (no NVIDIA driver found; {needed})"
    found = f"the NVIDIA driver is for CUDA {driver[0]}.{driver[1]}"
    if driver < (toolkit[0], 0):
        return f" ({found}; {needed}: update the driver)"
    return f" ({found} and shows no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES)"


def announce_compilation(device: wp.Device) -> None:
    """Say that the first step takes long, if this version's kernels were never compiled here."""
    cache = Path(wp.config.kernel_cache_dir)
    if not any(cache.glob(f"wp_{LARGE_MODULE}*")):
        if not os.access(cache, os.W_OK):
            raise _unwritable(cache, "permission denied")
        sys.stderr.write(
            f"Warp compiles its kernels for {device}, once: this takes about a minute "
            f"(cache: {cache}).\n"
        )


class RowUpload:
    """Rows for some robots, the robot's number first, in memory that the device reads quickly.

    One copy carries a whole row, and only rows that are used are copied.
    """

    def __init__(self, num_robots: int, width: int, device: wp.Device) -> None:
        """Reserve a row of `width` numbers per robot, on both sides."""
        self._width = 1 + width
        self._host = wp.zeros(
            (num_robots, self._width), dtype=float, device="cpu", pinned=device.is_cuda
        )
        self._rows = self._host.numpy()
        self._device = wp.zeros((num_robots, self._width), dtype=float, device=device)

    def send(self, robots: np.ndarray, *parts: Array) -> wp.array:
        """Copy parts (robots, ...) to the device, side by side; return all rows there."""
        count = len(robots)
        if not count:
            return self._device
        wp.synchronize_device(self._device.device)  # the last copy may still be under way
        self._rows[:count, 0] = robots
        start = 1
        for part in parts:
            flat = np.reshape(part, (count, -1))
            self._rows[:count, start : start + flat.shape[1]] = flat
            start += flat.shape[1]
        wp.copy(self._device, self._host, count=count * self._width)
        return self._device
