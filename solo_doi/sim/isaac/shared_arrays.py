"""Arrays that two processes share: one anonymous piece of memory that vanishes with the last of them."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping

import numpy as np

ALIGNMENT = 64


class SharedArrays:
    """Arrays by name in memory that has no name: it need not be unlinked, whoever is killed."""

    def __init__(self, shapes: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """Allocate zeros, one array after the other; `file` is what the other process is to map."""
        self.layout: dict[str, tuple[str, tuple[int, ...], int]] = {}
        """Type, shape and offset of every array [bytes]."""
        end = 0
        for name, (kind, shape) in shapes.items():
            self.layout[name] = kind, shape, end
            end += -(-np.dtype(kind).itemsize * math.prod(shape) // ALIGNMENT) * ALIGNMENT
        self.file = os.memfd_create("solo-isaac")
        os.ftruncate(self.file, end)
        memory = mmap.mmap(self.file, end)
        self._arrays = {
            name: np.frombuffer(memory, kind, math.prod(shape), offset).reshape(shape)
            for name, (kind, shape, offset) in self.layout.items()
        }

    def __getitem__(self, name: str) -> np.ndarray:
        """Return an array; writing into it is all it takes to send it."""
        return self._arrays[name]

    def close(self) -> None:
        """Close the file; arrays remain usable until nobody holds them."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
