"""Packets as rows of plain numbers: `struct` takes as long for a whole packet as numpy for a few of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any

import numpy as np


class Row:
    """Some fields of a layout, one after another, whatever their order in the packet."""

    def __init__(self, layout: np.dtype, *fields: str) -> None:
        """Name the fields, which are unique in the layout; other bytes are not read, and written as zero."""
        numbers = [*_numbers(layout)]
        codes = (kind.char if name in fields else f"{kind.itemsize}x" for name, kind in numbers)
        self._struct = Struct("<" + "".join(codes))
        names = [name for name, _ in numbers if name in fields]
        order = sorted(
            range(len(names)), key=lambda place: fields.index(names[place])
        )  # keeps that of one field
        self._by_field = itemgetter(*order)
        self._by_place = itemgetter(*np.argsort(order).tolist())

    def read(self, payload: bytes) -> tuple[Any, ...]:
        """Return the numbers of a payload that is as long as the layout, integers and floats as they are in it."""
        numbers: tuple[Any, ...] = self._by_field(self._struct.unpack(payload))
        return numbers

    def write(self, numbers: Sequence[Any]) -> bytes:
        """Return the payload of numbers that fit their fields."""
        return self._struct.pack(*self._by_place(numbers))


def _numbers(layout: np.dtype, name: str = "") -> Iterator[tuple[str, np.dtype]]:
    """Every number of a layout and of the layouts in it: the innermost field that it belongs to, and its type."""
    if layout.subdtype is not None:
        base, shape = layout.subdtype
        for _ in range(shape[0]):
            yield from _numbers(base, name)
    elif layout.names is not None:
        for inner in layout.names:
            yield from _numbers(layout[inner], inner)
    else:
        yield name, layout
