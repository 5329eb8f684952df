"""The vendor's demo program against the virtual board: a minute on the wall clock, which needs an idle machine."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from solo_doi.errors import SoloError
from tests.contract.board_runs import SDK_PYTHON, sdk_python
from tests.deploy.odri.vendor_demo import run_demo

from .harness import MIN_PAIRS, Pairs, benchmark

SECONDS = 60.0
RATE = 1000.0


@benchmark(unit="commands/s", at_least=0.99)
def vendor_demo() -> Pairs:
    """Commands of the vendor's demo program in five parts of a minute, against 1 kHz; prints losses and angles."""
    python = sdk_python()
    if python is None:
        raise SoloError(f"No interpreter with the vendor's wheels: run solo-deploy install-robot, set {SDK_PYTHON}.")
    with tempfile.TemporaryDirectory() as folder:
        run = run_demo(Path(python), Path(folder), SECONDS)
    sys.stdout.write(
        f"board: {run.state}; lost: {run.commands_lost} commands, {run.sensors_lost} sensor packets of "
        f"{len(run.command_times)}; angles off by {run.angle_error:.4f} rad\n"
    )
    last = run.command_times[-1] - SECONDS
    edges = last + np.linspace(0.0, SECONDS, MIN_PAIRS + 1)
    counts, _ = np.histogram(run.command_times, edges)
    return [(count / (SECONDS / MIN_PAIRS), RATE) for count in counts]
