"""Arrays in memory shared with the client."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


def map_arrays(file: int, layout: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the client's arrays by name: `layout` gives type, shape and offset of each."""
    memory = mmap.mmap(file, 0)
    arrays = {}
    for name, (kind, shape, offset) in layout.items():
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(memory, kind, count, offset).reshape(shape)
    return arrays
