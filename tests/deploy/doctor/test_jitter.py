"""Lateness of a loop, on a simulated clock."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.common.clock import Clock
from deploy.doctor.jitter import EDGES_US, bars, histogram, measure_lateness


class LateClock(Clock):
    """A clock on which every sleep takes longer than asked for."""

    def __init__(self, late: float) -> None:
        """Sleep `late` seconds too long."""
        self._now = 0.0
        self._late = late

    def now_ns(self) -> int:
        """Return the simulated time."""
        return round(1e9 * self._now)

    def sleep(self, seconds: float) -> None:
        """Sleep too long."""
        self._now += seconds + self._late


def test_the_lateness_of_every_tick_is_measured() -> None:
    lateness = measure_lateness(0.02, LateClock(0.0003))
    assert len(lateness) == 20
    assert lateness == pytest.approx(0.0003)
    assert histogram(lateness) == [0, 0, 0, 20, 0, 0, 0, 0, 0]


def test_ticks_beyond_all_edges_are_counted() -> None:
    lateness = np.array([-1e-6, 60e-6, 1.0])
    counts = histogram(lateness)
    assert len(counts) == len(EDGES_US) + 1
    assert (counts[0], counts[1], counts[-1], sum(counts)) == (1, 1, 1, 3)


def test_the_histogram_has_one_character_per_class() -> None:
    assert bars([10000, 100, 1, 0]) == "█▅▁·"
    assert bars([1, 0]) == "▁·"
