"""Warp's devices: choice, message before a compilation, rows of numbers on their way to one."""

from __future__ import annotations

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
    wp.init()
    known = [str(device) for device in wp.get_devices()]
    if name not in known:
        raise SoloError(
            f"Warp has no device {name!r}, only {', '.join(known)}. Set {DEVICE_VARIABLE} to one "
            "of them; without a GPU, --sim mujoco is faster than Warp on the processor."
        )
    return wp.get_device(name)


def announce_compilation(device: wp.Device) -> None:
    """Say that the first step takes long, if this version's kernels were never compiled here."""
    cache = Path(wp.config.kernel_cache_dir)
    if not any(cache.glob(f"wp_{LARGE_MODULE}*")):
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
