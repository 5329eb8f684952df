"""Run benchmarks: `python -m tests.bench [NAME ...]` prints each figure as one line of JSON."""

from __future__ import annotations

import argparse
import sys

from solo_doi.errors import SoloError

from . import (  # noqa: F401  # they register
    board,
    board_wall,
    collect,
    deploy,
    estimator,
    evaluate,
    faults,
    isaac,
    observation,
    pretrain,
    sim,
    train,
    vendor,
    wall,
)
from .harness import BENCHMARKS, chosen


def main() -> int:
    """Print figures; the exit code is 1 if one misses its target, 2 if a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list benchmarks and leave")
    arguments = parser.parse_args()
    if arguments.list:
        for name, one in BENCHMARKS.items():
            print(f"{name:24} {one.summary}")
        return 0
    try:
        benchmarks = chosen(arguments.names)
    except SoloError as error:
        print(error, file=sys.stderr)
        return 2
    missed = 0
    for name, one in benchmarks.items():
        figure = one.run(name)
        print(figure.line(), flush=True)
        missed += figure.ok is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
