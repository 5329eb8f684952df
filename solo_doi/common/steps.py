"""Steps of long commands on the terminal: a status line, or plain lines for logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAIN_FLAG = "--plain"
PLAIN_VARIABLE = "SOLO_PLAIN"
"""Environment variable that --plain sets, also for child processes."""

StepReport = Callable[[str], None]


def _ignore(text: str) -> None:
    """Show nothing: the default in programs that import this library."""


_report: StepReport = _ignore


def step(text: str) -> None:
    """Show what begins now."""
    _report(text)


def make_plain() -> None:
    """Write lines without colours, bars or cursor movements, in child processes too."""
    os.environ[PLAIN_VARIABLE] = "1"
    os.environ["NO_COLOR"] = "1"  # known to rich and other programs
    os.environ["TERM"] = "dumb"


def is_plain() -> bool:
    """Return True if --plain was given."""
    return bool(os.environ.get(PLAIN_VARIABLE))


@contextmanager
def shown_steps(program: str) -> Iterator[None]:
    """Show the steps of a command: one changing line on a terminal, lines with --plain.

    Without a terminal and without --plain nothing is shown.
    """
    global _report
    before = _report
    try:
        if is_plain():
            _report = _plain_report(program)
            yield
        elif sys.stderr.isatty():
            from rich.console import Console

            with Console(stderr=True).status(program) as status:
                _report = status.update
                yield
        else:
            yield
    finally:
        _report = before


def show_next(*commands: str) -> None:
    """Print the commands that usually follow, as the last lines of a command."""
    for command in commands:
        sys.stdout.write(f"next: {command}\n")


def _plain_report(program: str) -> StepReport:
    begun = time.monotonic()
    shown = ""

    def report(text: str) -> None:
        nonlocal shown
        if text != shown:
            shown = text
            sys.stderr.write(f"{program}: {time.monotonic() - begun:.0f} s: {text}\n")
            sys.stderr.flush()

    return report
