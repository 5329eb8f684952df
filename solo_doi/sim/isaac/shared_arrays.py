"""Arrays shared by two processes in anonymous memory, freed when the last process ends."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping

import numpy as np

ALIGNMENT = 64
"""Alignment of each array [bytes]."""


class SharedArrays:
    """Arrays by name, in memory without a file name: nothing remains if a process is killed."""

    def __init__(self, shapes: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """Allocate zeros; the other process maps the file descriptor `file`."""
        self.layout: dict[str, tuple[str, tuple[int, ...], int]] = {}
        """Type, shape and offset of every array [bytes]."""
        end = 0
        for name, (kind, shape) in shapes.items():
            self.layout[name] = (kind, shape, end)
            size = np.dtype(kind).itemsize * math.prod(shape)
            end += math.ceil(size / ALIGNMENT) * ALIGNMENT
        self.file = os.memfd_create("solo-isaac")
        os.ftruncate(self.file, end)
        memory = mmap.mmap(self.file, end)
        self._arrays = {}
        for name, (kind, shape, offset) in self.layout.items():
            flat = np.frombuffer(memory, kind, math.prod(shape), offset)
            self._arrays[name] = flat.reshape(shape)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array. The other process sees every change at once."""
        return self._arrays[name]

    def close(self) -> None:
        """Close the file descriptor; arrays remain usable."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
