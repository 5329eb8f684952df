"""Programs beside a virtual board in a separate network namespace, if this machine allows it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).parents[2]
SDK_PYTHON = "SOLO_DOI_SDK_PYTHON"
"""Environment variable: interpreter of an environment with the vendor's wheels."""
STOOD_STILL = "no measurements for 50 ms"
Result = TypeVar("Result")


@functools.cache
def sdk_python() -> str | None:
    """Return an interpreter that can import the vendor's library, if there is one."""
    for python in (os.environ.get(SDK_PYTHON), sys.executable):
        if (
            python
            and subprocess.run(
                [python, "-c", "import libmaster_board_sdk_pywrap"], capture_output=True
            ).returncode
            == 0
        ):
            return python
    return None


def need_sdk() -> str:
    """Return that interpreter, or skip."""
    python = sdk_python()
    if python is None:
        pytest.skip(f"no interpreter with the vendor's wheels: set {SDK_PYTHON}")
    return python


@functools.cache
def _namespace_error() -> str:
    result = subprocess.run(
        [
            "unshare",
            "-Urn",
            "ip",
            "link",
            "add",
            "esolo0",
            "type",
            "veth",
            "peer",
            "name",
            "esolo1",
        ],
        capture_output=True,
        text=True,
    )
    return result.stderr.strip() if result.returncode else ""


def need_namespace() -> None:
    """Skip the test if this machine allows no network namespace."""
    try:
        error = _namespace_error()
    except FileNotFoundError as missing:
        error = str(missing)
    if error:
        pytest.skip(f"no right to make a network namespace with a veth pair here: {error}")


def beside_board(
    *command: str, protocol: int, options: tuple[str, ...] = (), timeout: float = 120
) -> str:
    """Run a command beside a board in lock-step, on a separate cable.

    Returns the output of both.
    """
    need_namespace()
    board = (sys.executable, "-m", "deploy.robots.virtual_board", "--veth", "--clock", "lock-step")
    result = unless_it_stood_still(
        lambda: subprocess.run(
            ["unshare", "-Urn", *board, "--protocol", str(protocol), *options, "--", *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=timeout,
        ),
        lambda result: result.stderr if result.returncode else "",
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def unless_it_stood_still(run: Callable[[], Result], text: Callable[[Result], str]) -> Result:
    """Return the result of a run; retry twice, then skip, if this machine stalled.

    The vendor's library closes the connection after 50 ms of its own clock, even in lock-step. A
    stalled machine must not fail a test.
    """
    for _ in range(3):
        result = run()
        if STOOD_STILL not in text(result):
            return result
    pytest.skip(f"this machine stands still too often: {STOOD_STILL!r} three times")
