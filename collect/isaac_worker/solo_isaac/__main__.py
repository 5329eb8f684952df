"""Commands of the worker: `serve` is started by the simulator's client, `about` by users."""

from __future__ import annotations

import argparse
import json
import sys

from .serve import serve


def main() -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(prog="python -m solo_isaac", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.required = True
    commands.add_parser("about", help="print the versions and the GPU of this Python")
    server = commands.add_parser("serve", help="answer a client; started by it")
    for name in ("requests", "answers", "lifeline", "memory"):
        server.add_argument(name, type=int, help="number of an open file")
    options = parser.parse_args()
    if options.command == "serve":
        return serve(options.requests, options.answers, options.lifeline, options.memory)
    from .device import about_machine  # loads Isaac Gym

    print(json.dumps(about_machine("cuda:0"), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
