"""Malformed input by the million: `python -m tests.fuzz [COUNT]` runs every decoder and the bundle loader's front."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from deploy.messages.auth import Authority
from deploy.messages.wire import CHANNELS, SIGNED, SIZES, blank, decode
from deploy.shipped import SHIPPED
from solo_doi.policies.bundle import seal, sealed
from solo_doi.policies.contract import BundleError, Contract


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Spoil bytes in one of the ways in which bytes are spoiled."""
    kind = rng.randrange(6)
    place = rng.randrange(len(data))
    if kind == 0:
        return rng.randbytes(rng.randrange(2 * len(data)))
    if kind == 1:
        return rng.randbytes(len(data))
    if kind == 2:
        return data[:place]
    if kind == 3:
        return data + rng.randbytes(1 + place % 9)
    if kind == 4:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    return data[:8] + rng.randbytes(len(data) - 8)  # a right fingerprint, and then anything


def decoders_hold(count: int, seed: int) -> int:
    """Feed every decoder; return how many inputs went as they should: refused, or read back to the very bytes."""
    rng, authority = random.Random(seed), Authority(bytes(32))
    genuine = {channel: authority.sign(blank(channel).encode()) for channel in CHANNELS}
    channels, good = tuple(CHANNELS), 0
    for number in range(count):
        channel = channels[number % len(channels)]
        data = mutated(genuine[channel], rng)
        message = decode(channel, data)
        readable = len(data) == SIZES[channel] and data[:8] == genuine[channel][:8]
        if message is None:
            good += not readable
        elif channel in SIGNED:
            good += readable and message.encode() == data and not authority.genuine(data)
        else:
            good += readable and message.encode() == data
    return good


def seals_hold(count: int, seed: int) -> int:
    """Spoil a short sealed file, the end of a bundle; return how many spoiled ones were refused."""
    rng = random.Random(seed)
    content = seal(SHIPPED.read_bytes()[-1024:])  # a whole bundle takes too long to hash a million times
    assert sealed(content)
    good = 0
    for _ in range(count):
        spoilt = mutated(content, rng)
        good += sealed(spoilt) == (spoilt == content)
    return good


def contracts_hold(count: int, seed: int) -> int:
    """Spoil a contract's text; return how many were refused with a reason, or read as what they say."""
    rng = random.Random(seed)
    text = Contract.parse(_contract_text(), "shipped").canonical().encode()
    good = 0
    for _ in range(count):
        spoilt = mutated(text, rng).decode("utf-8", "replace")
        with suppress(BundleError):
            Contract.parse(spoilt, "fuzz")
        good += 1  # anything else that is raised ends the program
    return good


def _contract_text() -> str:
    import onnx

    return next(entry.value for entry in onnx.load(SHIPPED).metadata_props if entry.key == "solo12.contract")


FRONTS: dict[str, tuple[Callable[[int, int], int], float]] = {
    "message decoders": (decoders_hold, len(CHANNELS)),
    "bundle seals": (seals_hold, 1),
    "contracts": (contracts_hold, 0.1),
}
"""What is fuzzed, and with how many times the inputs: every decoder gets all, the slow reader of contracts less."""


def main() -> int:
    """Print one line per front; the exit code is 1 if anything malformed was taken."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    bad = 0
    for name, (front, share) in FRONTS.items():
        inputs, begun = round(count * share), time.perf_counter()
        good = front(inputs, 0)
        bad += inputs - good
        sys.stdout.write(f"{name}: {inputs} inputs, {inputs - good} wrong, {time.perf_counter() - begun:.0f} s\n")
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
