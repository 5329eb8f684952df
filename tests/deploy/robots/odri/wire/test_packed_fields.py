"""Rows of numbers against numpy's reading of the same layout."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.robots.odri.wire.packed_fields import PackedFields
from deploy.robots.odri.wire.protocol import COMMAND_PACKET, SENSORS

INNER = np.dtype([("a", "<i2", 2), ("b", "u1"), ("c", "<f4")])
LAYOUT = np.dtype([("head", "<u2"), ("parts", INNER, 3), ("tail", "<i4")])


def test_fields_come_one_after_another() -> None:
    """Fields are in the requested order, each with its numbers in the packet's order."""
    packet = np.zeros((), LAYOUT)
    packet["head"], packet["tail"] = 65535, -7
    packet["parts"]["a"], packet["parts"]["c"] = [[1, -2], [3, -4], [5, -6]], [0.5, np.inf, -1.5]
    row = PackedFields(LAYOUT, "tail", "a", "c", "head").read(packet.tobytes())
    assert row == (-7, 1, -2, 3, -4, 5, -6, 0.5, np.inf, -1.5, 65535)


def test_unselected_fields_are_written_as_zero() -> None:
    """All other fields are unchanged."""
    payload = np.random.default_rng(0).bytes(LAYOUT.itemsize)
    row = PackedFields(LAYOUT, "c", "tail", "a")
    before, after = (
        np.frombuffer(data, LAYOUT)[0] for data in (payload, row.write(row.read(payload)))
    )
    assert (after["head"], after["parts"]["b"].tolist()) == (0, [0, 0, 0])
    assert after["tail"] == before["tail"]
    for name in ("a", "c"):
        np.testing.assert_array_equal(after["parts"][name], before["parts"][name])


@pytest.mark.parametrize(
    "layout", [COMMAND_PACKET, *SENSORS.values()], ids=["command", "sensors 3", "sensors 4"]
)
def test_numbers_are_those_that_numpy_reads(layout: np.dtype) -> None:
    """This holds for any bytes, in every field of every driver."""
    random = np.random.default_rng(1)
    for _ in range(100):
        payload = random.bytes(layout.itemsize)
        drivers = np.frombuffer(payload, layout)[0]["drivers"]
        for name in drivers.dtype.names:
            assert PackedFields(layout, name, "index").read(payload)[:-1] == tuple(
                drivers[name].ravel().tolist()
            )
