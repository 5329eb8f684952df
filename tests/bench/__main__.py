"""Run benchmarks: `python -m tests.bench [NAME ...]`.

Each figure is printed as one line of JSON, or as a row of a table.
"""

from __future__ import annotations

import argparse
import signal
import sys

from solo_doi.common.errors import SoloError

from .harness import BENCHMARKS, HEADER, chosen

try:
    from . import (  # noqa: F401  # they register
        board,
        board_wall,
        collect,
        defects,
        deploy,
        distance,
        estimator,
        evaluate,
        faults,
        help_texts,
        isaac,
        latency,
        observation,
        page,
        pretrain,
        sim,
        sitting,
        train,
        train_update,
        vendor,
        wall,
        warp,
    )
except ModuleNotFoundError as error:
    sys.exit(
        f"python -m tests.bench: needs the package {error.name!r}, which cannot be imported. "
        "Install the packages for tests: pip install -c .ci/constraints.txt -e '.[dev]'"
    )


def main() -> int:
    """Print figures; the exit code is 1 if one misses its target, 2 if a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument(
        "--markdown", action="store_true", help="print a table, as README.md in this folder has it"
    )
    parser.add_argument("--list", action="store_true", help="list benchmarks and leave")
    arguments = parser.parse_args()
    if arguments.list:
        for name, one in BENCHMARKS.items():
            print(f"{name:24} {one.summary}")
        return 0
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a script's `&` makes this process and its children ignore the signal
    try:
        benchmarks = chosen(arguments.names)
    except SoloError as error:
        print(error, file=sys.stderr)
        return 2
    missed = 0
    if arguments.markdown:
        print(HEADER)
    for name, one in benchmarks.items():
        figure = one.run(name)
        print(figure.row(one.summary) if arguments.markdown else figure.line(), flush=True)
        missed += figure.ok is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
