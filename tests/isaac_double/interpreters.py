"""Programs that replace the Python in which Isaac Gym is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from solo_doi.sim import IsaacConfig

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORKER = ROOT / "collect" / "isaac_worker"


def plain_interpreter(folder: Path) -> Path:
    """Return this Python with the double on its path."""
    return _program(
        folder / "python",
        f'#!/bin/sh\nPYTHONPATH="{HERE}:$PYTHONPATH" exec {sys.executable} "$@"\n',
    )


@contextmanager
def quick_interpreter(folder: Path) -> Iterator[Path]:
    """Return the same, but with a start time of hundredths of a second.

    It is forked from a process that has loaded torch.
    """
    socket = folder / "fork_server"
    environment = {"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(
        [sys.executable, str(HERE / "fork_server.py"), str(socket)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    try:
        client = (HERE / "fork_client.py").read_text()
        yield _program(
            folder / "quick_python", f"#!{sys.executable} -SEs\nSOCKET = {str(socket)!r}\n{client}"
        )
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()


def double(python: Path, device: str = "cuda:0", worker: Path = WORKER) -> IsaacConfig:
    """Return the configuration of a simulator on the double."""
    return IsaacConfig(python=python, worker=worker, device=device)


def _program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
