"""The vendor's demo program against the virtual board.

It runs for a minute on the wall clock, which needs an idle machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from solo_doi.common.errors import SoloError
from tests.contract.board_runs import SDK_PYTHON, sdk_python
from tests.deploy.robots.odri.vendor_demo import DemoRun, run_demo

from .harness import MIN_PAIRS, Pairs, benchmark

SECONDS = 60.0
RATE = 1000.0


ANGLES = 0.002
"""Largest error of the angles that the demo shows [rad]."""


@benchmark(unit="commands/s", at_least=0.99)
def vendor_demo() -> Pairs:
    """Commands of the vendor's demo program in five parts of a minute, against 1 kHz.

    No packet may be lost, and angles agree to 0.002 rad.
    """
    python = sdk_python()
    if python is None:
        raise SoloError(
            f"No interpreter with the vendor's wheels: run solo-deploy install-robot, set "
            f"{SDK_PYTHON}."
        )
    with tempfile.TemporaryDirectory() as folder:
        run = run_demo(Path(python), Path(folder), SECONDS)
    sys.stdout.write(
        f"board: {run.state}; lost: {run.commands_lost} commands, {run.sensors_lost} sensor "
        f"packets of "
        f"{len(run.command_times)}; angles off by {run.angle_error:.4f} rad\n"
    )
    check(run)
    last = run.command_times[-1] - SECONDS
    edges = last + np.linspace(0.0, SECONDS, MIN_PAIRS + 1)
    counts, _ = np.histogram(run.command_times, edges)
    return [(count / (SECONDS / MIN_PAIRS), RATE) for count in counts.tolist()]


def check(run: DemoRun) -> None:
    """Raise an error for a lost packet or a wrong angle.

    The message includes the stalls of the machine.
    """
    if run.ended_early or run.commands_lost or run.sensors_lost or not run.angle_error <= ANGLES:
        raise RuntimeError(
            f"{'the demo ended by itself; ' * run.ended_early}lost {run.commands_lost} commands "
            f"and {run.sensors_lost} "
            f"sensor packets, expected none; angles off by {run.angle_error:.4f} rad, expected "
            f"{ANGLES} at most. "
            f"Longest gap {1000 * run.command_gap:.1f} ms between commands, "
            f"{1000 * run.sensor_gap:.1f} ms between "
            f"sensor packets; {1000 * run.stolen:.0f} ms stolen from this machine. The library "
            f"gives up after 50 ms."
        )
