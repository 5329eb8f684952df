"""Malformed input for every decoder and every reader of files.

`python -m tests.fuzz [COUNT] [FRONT]` runs them. Each function returns the number of inputs that
were handled correctly: refused with a reason, or read with exactly their content. Any other
exception ends the program.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import CHANNELS, MESSAGE_SIZES, SIGNED, blank, decode

from .fuzz_bundles import bundles_hold, contracts_hold, seals_hold
from .fuzz_files import (
    calibrations_hold,
    configurations_hold,
    keys_hold,
    logs_hold,
    replays_hold,
    signatures_hold,
)
from .fuzz_handlers import handlers_hold
from .spoiling import mutated


def decoders_hold(count: int, seed: int) -> int:
    """Feed every decoder; return the number of inputs refused, or read back to the same bytes."""
    rng, authority = random.Random(seed), Authority(bytes(32))
    genuine = {channel: authority.sign(blank(channel).encode()) for channel in CHANNELS}
    channels, good = tuple(CHANNELS), 0
    for number in range(count):
        channel = channels[number % len(channels)]
        data = mutated(genuine[channel], rng)
        message = decode(channel, data)
        readable = len(data) == MESSAGE_SIZES[channel] and data[:8] == genuine[channel][:8]
        if message is None:
            good += not readable
        elif channel in SIGNED:
            good += readable and message.encode() == data and not authority.genuine(data)
        else:
            good += readable and message.encode() == data
    return good


FRONTS: dict[str, tuple[Callable[[int, int], int], float]] = {
    "message decoders": (decoders_hold, len(CHANNELS)),
    "message handlers": (handlers_hold, 0.1),
    "bundle seals": (seals_hold, 1),
    "bundle contracts": (contracts_hold, 1),
    "whole bundles": (bundles_hold, 0.01),
    "signatures": (signatures_hold, 0.1),
    "keys": (keys_hold, 0.1),
    "calibrations": (calibrations_hold, 1),
    "configurations": (configurations_hold, 0.01),
    "logs": (logs_hold, 1),
    "replays": (replays_hold, 0.01),
}
"""Functions by name, with a factor for the number of inputs; slow ones get fewer."""


def main() -> int:
    """Print one line per function; the exit code is 1 if malformed input was accepted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Feed malformed input to every reader."
    )
    parser.add_argument(
        "count", nargs="?", type=int, default=1_000_000, help="inputs (default: a million)"
    )
    parser.add_argument(
        "fronts",
        nargs="*",
        metavar="front",
        help=f"what to feed: {', '.join(FRONTS)} (default: all)",
    )
    arguments = parser.parse_args()
    if unknown := {*arguments.fronts} - {*FRONTS}:
        parser.error(f"unknown front {min(unknown)!r}, known are: {', '.join(FRONTS)}")
    bad = 0
    for name in arguments.fronts or FRONTS:
        front, share = FRONTS[name]
        inputs, begun = round(arguments.count * share), time.process_time()
        good = front(inputs, 0)
        bad += inputs - good
        sys.stdout.write(
            f"{name}: {inputs} inputs, {inputs - good} wrong, {time.process_time() - begun:.0f} s\n"
        )
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
