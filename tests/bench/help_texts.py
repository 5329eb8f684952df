"""Help texts: processor time of the slowest command."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.compatibility.entry_points import PROJECT

from .harness import Pairs, benchmark

LIMIT = 0.4
"""Processor time within which a command prints its help [s]."""


@benchmark(unit="s", at_most=1.0)
def help_texts() -> Pairs:
    """Processor time of `--help`, imports included, of the slowest command against 0.4 s."""
    return [(max(map(_cpu_of_help, PROJECT["scripts"].values())), LIMIT) for _ in range(5)]


def _cpu_of_help(place: str) -> float:
    module, _, function = place.partition(":")
    code = f"import {module} as cli; cli.{function}()"
    before = os.times()
    subprocess.run([sys.executable, "-c", code, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system
