"""Feed decoders with rubbish: `python -m tests.deploy.odri.fuzz 1000000`.

Half of the inputs are random bytes of any length, half are good frames with a few bytes changed, cut or added.
Nothing may raise, and what is accepted must satisfy the layout by rules written here a second time.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from deploy.robots.odri import codec
from deploy.robots.odri.ethernet import pack_frame, unpack_frame
from deploy.robots.odri.protocol import Ack, Init, Malformed

from .packets import command, sensor

GOOD = (
    codec.encode_init(Init(4, 7)),
    codec.encode_ack(Ack(3, 7, 63), 3),
    codec.encode_ack(Ack(4, 7, 63), 4),
    codec.encode_command(command(), 7, 1, 3),
    codec.encode_sensor(sensor(), 3),
    codec.encode_sensor(sensor(), 4),
)
DECODERS = {
    "init": (codec.decode_init, {4}),
    "ack": (codec.decode_ack, {3, 5}),
    "command": (codec.decode_command, {172}),
    "sensor 3": (lambda payload: codec.decode_sensor(payload, 3), {200}),
    "sensor 4": (lambda payload: codec.decode_sensor(payload, 4), {208}),
}


def rubbish(random: np.random.Generator) -> bytes:
    """Return one input."""
    if random.random() < 0.5:
        return random.bytes(int(random.integers(0, 260)))
    frame = bytearray(pack_frame(GOOD[random.integers(len(GOOD))]))
    for _ in range(random.integers(0, 4)):
        # The header decides what is accepted: hit it as often as all the rest.
        end = 16 if random.random() < 0.5 else len(frame)
        frame[random.integers(end)] = random.integers(256)
    return bytes(frame[: random.integers(len(frame))] if random.random() < 0.3 else frame)


def check(data: bytes) -> str:
    """Decode one input; return how far it came."""
    frame = unpack_frame(data)
    is_frame = len(data) > 16 and data[12:14] == b"\x88\xb5" and 0 < data[14] + 256 * data[15] <= len(data) - 16
    assert isinstance(frame, Malformed) != is_frame, data.hex()
    payload = data if isinstance(frame, Malformed) else frame.payload
    accepted = []
    for name, (decode, sizes) in DECODERS.items():
        packet = decode(payload)
        assert isinstance(packet, Malformed) == (len(payload) not in sizes), (name, data.hex())
        if not isinstance(packet, Malformed):
            accepted.append(name)
    return f"{'frame' if is_frame else 'no frame'}, {' '.join(accepted) or 'nothing'}"


def fuzz(count: int, seed: int = 0) -> Counter[str]:
    """Check many inputs; return how many went how far."""
    random = np.random.default_rng(seed)
    return Counter(check(rubbish(random)) for _ in range(count))


def main() -> None:
    """Run from the command line."""
    count, start = int(sys.argv[1]), time.perf_counter()
    for outcome, number in fuzz(count).most_common():
        sys.stdout.write(f"{number:9d}  {outcome}\n")
    sys.stdout.write(f"{count} inputs in {time.perf_counter() - start:.0f} s, none raised, none wrongly accepted\n")


if __name__ == "__main__":
    main()
