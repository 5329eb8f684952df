"""The worker's simulation in this process.

`isaac.py` starts it and requests the time of some steps, line by line.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from solo_isaac.simulation import Simulation

message, shapes = json.loads(sys.stdin.readline())
arrays = {name: np.zeros(shape, kind) for name, (kind, shape) in shapes.items()}
arrays["root"][:, 2] = arrays["root"][:, 6] = 1.0
simulation = Simulation(message, arrays)
simulation.step(push=False)  # creates the robots
steps = int(sys.argv[1])
for _ in sys.stdin:
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        simulation.step(push=False)
        times.append(time.perf_counter() - start)
    print(min(times), flush=True)  # noqa: T201
