"""Feed decoders with random input: `python -m tests.deploy.robots.odri.wire.fuzz 1000000`.

Half of the inputs are random bytes of any length, half are good frames with a few bytes changed,
cut or added. No decoder may raise an exception. An accepted input must be valid: encoded again, it
gives the same bytes, except for those that the layout leaves unused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.ethernet import pack_frame, unpack_frame
from deploy.robots.odri.wire.protocol import Ack, Init, Malformed
from tests.deploy.robots.odri.packets import command, sensor

GOOD = (
    codec.encode_init(Init(4, 7)),
    codec.encode_ack(Ack(3, 7, 63), 3),
    codec.encode_ack(Ack(4, 7, 63), 4),
    codec.encode_command(command(), 7, 1, 3),
    codec.encode_sensor(sensor(), 3),
    codec.encode_sensor(sensor(), 4),
)
DECODERS: dict[str, Callable[[bytes], Any]] = {
    "init": codec.decode_init,
    "ack": codec.decode_ack,
    "command": codec.decode_command,
    "sensor 3": lambda payload: codec.decode_sensor(payload, 3),
    "sensor 4": lambda payload: codec.decode_sensor(payload, 4),
}
UNUSED_STATUS = 0x70
"""Unused bits of a driver's status."""


def rubbish(random: np.random.Generator) -> bytes:
    """Return one input."""
    if random.random() < 0.5:
        return random.bytes(int(random.integers(0, 260)))
    frame = bytearray(pack_frame(GOOD[random.integers(len(GOOD))]))
    for _ in range(random.integers(0, 4)):
        # The header decides acceptance, so it is changed as often as all the rest.
        end = 16 if random.random() < 0.5 else len(frame)
        frame[random.integers(end)] = random.integers(256)
    return bytes(frame[: random.integers(len(frame))] if random.random() < 0.3 else frame)


def check(data: bytes) -> str:
    """Decode one input; return the stage that it reached."""
    frame = unpack_frame(data)
    payload = data if isinstance(frame, Malformed) else frame.payload
    if not isinstance(frame, Malformed):
        again = pack_frame(payload, frame.source)
        assert again[6 : 16 + len(payload)] == data[6 : 16 + len(payload)], data.hex()
    accepted = []
    for name, decode in DECODERS.items():
        packet = decode(payload)
        if not isinstance(packet, Malformed):
            assert gives_back(name, packet, payload), (name, data.hex())
            accepted.append(name)
    assert accepted or payload not in GOOD, data.hex()
    return (
        f"{'no frame' if isinstance(frame, Malformed) else 'frame'}, "
        f"{' '.join(accepted) or 'nothing'}"
    )


def gives_back(name: str, packet: Any, payload: bytes) -> bool:  # any decoded packet
    """Return True if an accepted packet contains the whole content of the payload."""
    if name == "init":
        return codec.encode_init(packet) == payload
    if name == "ack":
        return payload in (codec.encode_ack(packet, 3), codec.encode_ack(packet, 4))
    if name == "command":
        return _command_gives_back(packet, payload)
    kind = p.SENSORS[int(name[-1])]
    before, after = (
        np.frombuffer(payload, kind)[0].copy(),
        codec.encode_sensor(packet, int(name[-1])),
    )
    return _bare(before).tobytes() == _bare(np.frombuffer(after, kind)[0].copy()).tobytes()


def _bare(record: np.void) -> np.void:
    """Return measurements without the parts that no decoder reads.

    These are unread drivers, and the most negative number, which encoders clip.
    """
    drivers = record["drivers"]
    drivers["status"] &= 0xFFFF - UNUSED_STATUS
    for name in ("time_stamp", "resistance", "adc"):
        drivers[name] = 0
    _clip(drivers)
    unread = drivers["status"] & p.STATUS_ERROR == p.ERROR_NO_ANSWER
    drivers[unread] = np.zeros((), drivers.dtype)
    if "power" in (record.dtype.names or ()):
        record["power"]["energy"] = (
            round(float(record["power"]["energy"]), 3) if _whole(record) else 0.0
        )
    return record


def _whole(record: np.void) -> bool:
    return bool(
        abs(record["power"]["energy"]) < 1e3
    )  # beyond the range, and NaN: the precision of a float


def _command_gives_back(packet: p.CommandPacket, payload: bytes) -> bool:
    """Return True if all fields agree within one count.

    Encoders truncate, refuse a saturation of 0 and set modes themselves.
    """
    before = np.frombuffer(payload, p.COMMAND_PACKET)[0].copy()
    _clip(before["drivers"])
    motors, limits = packet.motors, p.LIMITS[3]
    bounded = {
        name: np.clip(getattr(motors, name), -getattr(limits, name), getattr(limits, name))
        for name in ("position", "velocity", "current")
    }
    legal = replace(motors, **bounded, saturation=np.maximum(motors.saturation, p.SATURATION_LSB))
    after = np.frombuffer(
        codec.encode_command(legal, packet.session, packet.index, 3), p.COMMAND_PACKET
    )[0]
    bits = sum((*p.MODE_MOTOR, *p.MODE_INDEX))
    fields = ("position", "velocity", "current", "kp", "kd")
    old, new = before["drivers"], after["drivers"]
    near = all(np.abs(old[name].astype(np.int64) - new[name]).max() <= 1 for name in fields)
    saturation = np.array_equal(np.maximum(old["saturation"], 1), new["saturation"])
    modes = np.array_equal(old["mode"] & bits, new["mode"] & bits)
    return bool(near and saturation and modes and before["session"] == after["session"]) and (
        before["index"] == after["index"]
    )


def _clip(drivers: np.ndarray) -> None:
    for name in ("position", "velocity", "current"):
        drivers[name] = np.maximum(drivers[name], -np.iinfo(drivers[name].dtype).max)


def fuzz(count: int, seed: int = 0) -> Counter[str]:
    """Check many inputs; return the number per stage."""
    random = np.random.default_rng(seed)
    return Counter(check(rubbish(random)) for _ in range(count))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.deploy.robots.odri.wire.fuzz",
        description="Feed decoders with rubbish.",
    )
    parser.add_argument(
        "count", nargs="?", type=int, default=1_000_000, help="inputs (default: a million)"
    )
    count, start = parser.parse_args().count, time.perf_counter()
    for outcome, number in fuzz(count).most_common():
        sys.stdout.write(f"{number:9d}  {outcome}\n")
    sys.stdout.write(
        f"{count} inputs in {time.perf_counter() - start:.0f} s, none raised, none wrongly "
        f"accepted\n"
    )


if __name__ == "__main__":
    main()
