"""Lateness of a 1 kHz loop on this computer; run as `python -m deploy.doctor.jitter SECONDS`.

The separate process has the settings of the controller: real-time priority and locked memory, as
far as they are allowed. It prints its result as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from deploy.common.clock import CLOCK, Clock, Ticker, percentiles
from deploy.common.realtime import prepare
from deploy.common.robot_constants import TICK

EDGES_US = (50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Upper edges of the histogram's classes [us]; the last class has everything above."""
BARS = "▁▂▃▄▅▆▇█"
TEST_PRIORITY = 40
"""Real-time priority of the measurement, that of the controller."""


def measure_lateness(seconds: float, clock: Clock = CLOCK) -> np.ndarray:
    """Tick at 1 kHz for a duration, as the control loop does; return the lateness [s]."""
    ticker = Ticker(TICK, clock=clock)
    for _ in range(max(1, round(seconds / TICK))):
        ticker.wait()
    return ticker.lateness()


def histogram(lateness: np.ndarray) -> list[int]:
    """Return the number of ticks between the edges, and above the last one."""
    counts, _ = np.histogram(1e6 * lateness, [-np.inf, *EDGES_US, np.inf])
    return list(map(int, counts))


def bars(counts: list[int]) -> str:
    """Draw a histogram as one character per class; heights are logarithmic, empty is a dot."""
    largest = max(counts)
    text = ""
    for count in counts:
        height = 0.0
        if count and largest > 1:
            height = np.log(count) / np.log(largest)
        text += BARS[round(height * (len(BARS) - 1))] if count else "·"
    return text


def measure(seconds: float) -> dict[str, Any]:
    """Return percentiles, histogram and everything that the operating system refused."""
    refused = prepare(TEST_PRIORITY)
    lateness = measure_lateness(seconds)
    return {
        "lateness": percentiles(lateness),
        "histogram": histogram(lateness),
        "refused": refused,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(float(sys.argv[1]))) + "\n")
