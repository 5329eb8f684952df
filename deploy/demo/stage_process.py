"""A stage as a child process, with its output in a file."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from solo_doi.common.child_python import child_environment
from solo_doi.common.steps import PLAIN_VARIABLE

from .stages import DemoStage

OUTPUT_PERIOD = 0.2
"""Time between two looks at a child's output [s]."""
STAGE_END_TIMEOUT = 30.0
"""Time in which a child that was asked to end does so [s]."""
TAIL_BYTES = 4000
"""Bytes at the end of an output file in which its last line is found."""


def run_stage(stage: DemoStage, output: Path, show: Callable[[str], None]) -> int:
    """Run a stage and return its exit code; `show` gets the last line of its output.

    The child is ended if this process is interrupted.
    """
    environment = child_environment() | {PLAIN_VARIABLE: "1", "NO_COLOR": "1", "TERM": "dumb"}
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("wb") as stream:
        child = subprocess.Popen(
            stage.child_command(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            while child.poll() is None:
                show(last_line(output))
                time.sleep(OUTPUT_PERIOD)
        finally:
            _end(child)
    return child.returncode


def last_line(output: Path) -> str:
    """Return the last line of a file that has text; empty if there is none."""
    with output.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - TAIL_BYTES))
        text = stream.read().decode(errors="replace")
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child that still runs."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(STAGE_END_TIMEOUT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
