"""The live page: the control loop must not notice it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from deploy.launch.deployment_report import SUMMARY_FILE
from tests.command import SOLO_DEPLOY

from .harness import Pairs, benchmark, interleaved

RUN = ("--mock", "--seconds", "3")
"""A robot without physics, in real time: about seven seconds."""


@benchmark(unit="us", at_most=1.1)
def page_lateness() -> Pairs:
    """Median lateness of the controller's ticks with a page and a viewer, against without."""
    return interleaved(lambda: _lateness("--view"), _lateness)


def _lateness(*words: str) -> float:
    """Return the median lateness of a run [us]; a viewer receives the page, if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        process = subprocess.Popen(
            [*SOLO_DEPLOY, *RUN, *words, "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("page: "):
                threading.Thread(target=_watch, args=(line.split()[1],), daemon=True).start()
        process.wait()
        summary = json.loads((out / SUMMARY_FILE).read_text())
        return float(summary["timing"]["lateness"]["p50_us"])


def _watch(link: str) -> None:
    """Receive everything, as a browser does."""
    origin, _, token = link.partition("/#")
    address = origin.replace("http://", "ws://")
    with connect(f"{address}/socket", origin=origin) as viewer:  # type: ignore[arg-type]
        viewer.send(json.dumps({"token": token}))
        try:
            while True:
                viewer.recv()
        except ConnectionClosed:
            return
