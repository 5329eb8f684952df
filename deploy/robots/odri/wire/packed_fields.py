"""Fast access to fields of a packet as plain numbers.

It uses `struct`, which reads a whole packet in the time that numpy needs for a few fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any

import numpy as np


class PackedFields:
    """Reader and writer of selected fields of a packet layout, in a given order."""

    def __init__(self, layout: np.dtype, *fields: str) -> None:
        """Select fields by name; other bytes are ignored when reading and zero when writing."""
        numbers = [*_numbers(layout)]
        codes = (kind.char if name in fields else f"{kind.itemsize}x" for name, kind in numbers)
        self._struct = Struct("<" + "".join(codes))
        names = [name for name, _ in numbers if name in fields]
        # The sort is stable, so numbers of one field keep their order.
        order = sorted(range(len(names)), key=lambda place: fields.index(names[place]))
        self._by_field = itemgetter(*order)
        self._by_place = itemgetter(*np.argsort(order).tolist())

    def read(self, payload: bytes) -> tuple[Any, ...]:
        """Return the numbers of a payload with the length of the layout."""
        numbers: tuple[Any, ...] = self._by_field(self._struct.unpack(payload))
        return numbers

    def write(self, numbers: Sequence[Any]) -> bytes:
        """Return the payload for numbers that fit their fields."""
        return self._struct.pack(*self._by_place(numbers))


def _numbers(layout: np.dtype, name: str = "") -> Iterator[tuple[str, np.dtype]]:
    """Yield every number of a nested layout: its innermost field name and its type."""
    if layout.subdtype is not None:
        base, shape = layout.subdtype
        for _ in range(shape[0]):
            yield from _numbers(base, name)
    elif layout.names is not None:
        for inner in layout.names:
            yield from _numbers(layout[inner], inner)
    else:
        yield name, layout
