"""Cost of Isaac Gym in another process.

No physics runs here: only the communication is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from solo_doi.sim import SimConfig, make_simulator
from solo_doi.sim.isaac.isaac_simulator import IsaacSimulator
from solo_doi.sim.isaac.setup_message import array_shapes, setup_message
from solo_doi.solo12.constants import CONTROL_DT
from tests.isaac_double.interpreters import WORKER, double, plain_interpreter

from .harness import Pairs, benchmark, interleaved, seconds
from .sim import random_targets

ROBOTS = 4096
STEPS = 100
"""Steps per measurement. The fastest counts, because other processes use the cores at times."""
FROZEN = {"ISAAC_DOUBLE_FROZEN": "1"}
READ = ("root", "joint", "torque", "contact")
REFERENCE = Path(__file__).parent / "isaac_reference.py"


@benchmark(unit="s per control step", at_most=0.1)
def isaac_overhead() -> Pairs:
    """Time in client, pipe and shared memory for 4096 robots, beyond the worker's own step.

    The reference is a control step of 20 ms.
    """
    os.environ.update(FROZEN)
    with tempfile.TemporaryDirectory() as folder:
        python = plain_interpreter(Path(folder))
        config = SimConfig(num_robots=ROBOTS, isaac=double(python))
        with (
            make_simulator("isaacgym", config) as simulator,
            in_one_process(python, config) as worker,
        ):
            assert isinstance(simulator, IsaacSimulator)
            schedule = np.repeat(random_targets(ROBOTS, 1)[0][:, None], config.decimation, axis=1)
            pairs = interleaved(lambda: through_client(simulator, schedule), lambda: asked(worker))
    return [(client - alone, CONTROL_DT) for client, alone in pairs]


def through_client(simulator: IsaacSimulator, schedule: np.ndarray) -> float:
    """Return the time of the fastest step [s], without the work that every simulator does.

    That work is checks, lag and the kinematics of the feet.
    """

    def step() -> None:
        simulator._step(schedule, None)
        for name in READ:
            simulator._arrays[name].astype(np.float64)

    return min(seconds(step) for _ in range(STEPS))


@contextmanager
def in_one_process(python: Path, config: SimConfig) -> Iterator[subprocess.Popen[str]]:
    """A process in which the worker's simulation is called directly."""
    message = setup_message(config, 0, "cuda:0")
    shapes = {name: [kind, list(shape)] for name, (kind, shape) in array_shapes(config, 0).items()}
    environment = os.environ | FROZEN | {"PYTHONPATH": str(WORKER)}
    command = [str(python), str(REFERENCE), str(STEPS)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(json.dumps([message, shapes]) + "\n")
        yield process
        process.stdin.close()


def asked(process: subprocess.Popen[str]) -> float:
    """Return the seconds of the fastest step in that process."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())
