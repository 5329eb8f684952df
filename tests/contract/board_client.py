"""Contract of every client of a master board, as a program for the vendor's environment.

    python -m tests.contract.board_client DRIVER PROTOCOL RESULT

runs beside a virtual board in lock-step on `esolo0`. Each check continues the session of the one
before. The result is a JSON file with the outcome of every check, the frames that were sent, and a
hash of all measurements.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from deploy.common.robot_error import RobotError
from deploy.robots.odri.drivers.board import Board
from deploy.robots.odri.drivers.motors import motors_off
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.ethernet import PC_MAC
from deploy.robots.odri.wire.ethernet_link import ALL_TYPES, EthernetLink, open_socket
from deploy.robots.odri.wire.protocol import Init, MotorCommand, SensorPacket

INTERFACE = "esolo0"
WAIT = 60.0
"""Time limit for an answer; a board in lock-step answers when it is ready [s]."""


def make_board(driver: str) -> Board:
    """Open the interface by one of the drivers."""
    if driver == "native":
        return NativeBoard(EthernetLink(INTERFACE))
    from deploy.robots.odri.drivers.sdk_board import SdkBoard

    return SdkBoard(INTERFACE, lock_step=True)


class Client:
    """A session under test."""

    def __init__(self, driver: str, protocol: int) -> None:
        """Listen to the cable, then open the board."""
        self._listener = open_socket(INTERFACE, ALL_TYPES)
        self.sent: list[str] = []
        self.measured = hashlib.sha256()
        self.board = make_board(driver)
        self.expected = protocol

    def exchange(self, command: MotorCommand) -> SensorPacket:
        """Send a command and return the next measurements."""
        self.board.send(command)
        packet = self.board.receive(WAIT)
        assert packet is not None, "no answer"
        self.measured.update(packet.position.tobytes() + packet.imu.acceleration.tobytes())
        return packet

    def overhear(self) -> list[bytes]:
        """Return the frames that this machine has sent since the last call."""
        frames = []
        while True:
            try:
                data = self._listener.recv(2000)
            except BlockingIOError:
                return frames
            if data[6:12] == PC_MAC:
                frames.append(data)


def handler_is_ours(client: Client) -> None:
    """Ctrl-C raises an exception; the vendor's library would exit without damping."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 0.1)
    except KeyboardInterrupt:
        return
    raise AssertionError("Ctrl-C did not raise KeyboardInterrupt")


def connects(client: Client) -> None:
    """The connection needs a bounded number of requests and reports protocol, drivers and board."""
    tries = 0
    while not client.board.connect():
        assert client.board.receive(0.0) is None
        tries += 1
        assert tries < 2000, "not connected"
        signal.sigtimedwait([], 0.002)
    assert client.board.protocol == client.expected
    assert client.board.drivers == p.ALL_DRIVERS
    assert client.board.address == "02:30:12:00:00:01"


def says_nothing_before_the_first_command(client: Client) -> None:
    """There is no frame from uninitialised memory."""
    assert client.board.receive(0.01) is None


def measures(client: Client) -> None:
    """Values are plausible, motors are off, and no packet is duplicated or late."""
    for _ in range(20):
        packet = client.exchange(motors_off())
    assert not packet.enabled.any()
    assert packet.system_on.all()
    assert not packet.error.any()
    assert np.isfinite(packet.position).all()
    assert abs(packet.imu.acceleration[2] - 9.81) < 0.5
    assert np.isnan(packet.power.voltage) == (client.expected == 3)
    assert client.board.receive(0.0) is None
    assert client.board.command_lag == 0
    assert client.board.lost == 0


def refusal(board: Board, command: MotorCommand) -> str:
    """Return the reason why a command is not sent, or an empty text."""
    try:
        board.send(command)
    except RobotError as error:
        return str(error)
    return ""


def refuses_what_the_wire_cannot_carry(client: Client) -> None:
    """The command is not sent, and the session continues."""
    lost = client.exchange(motors_off()).commands_lost
    client.overhear()
    twelve = np.full(p.NUM_MOTORS, 1.0)
    limits = p.LIMITS[client.expected]
    for name, value in (
        ("position", np.nan),
        ("kp", limits.kp * 1.01),
        ("kd", limits.kd * 1.01),
        ("kp", -1.0),
        ("saturation", 0.0),
        ("current", np.inf),
    ):
        assert name in refusal(client.board, replace(motors_off(), **{name: twelve * value})), (
            f"{name} {value}"
        )
    assert client.overhear() == []
    assert client.exchange(motors_off()).commands_lost == lost


def puts_the_same_bytes_on_the_wire(client: Client) -> None:
    """The frames of forty commands cover the whole range, without session and index."""
    random, limits = np.random.default_rng(0), p.LIMITS[3]
    client.overhear()
    for _ in range(40):
        symmetric = {
            n: random.uniform(-1, 1, 12) * getattr(limits, n)
            for n in ("position", "velocity", "current")
        }
        gains = {
            n: random.uniform(0, 1, 12) * getattr(p.LIMITS[client.expected], n)
            for n in ("kp", "kd")
        }
        command = MotorCommand(
            enabled=np.zeros(12, dtype=bool),  # motors stay off
            compensate_index=random.random(12) < 0.5,
            saturation=random.uniform(p.SATURATION_LSB, p.LIMITS[client.expected].saturation, 12),
            **symmetric,
            **gains,
        )
        client.exchange(command)
    for frame in client.overhear():
        assert len(frame) == 188
        client.sent.append((frame[:16] + bytes(2) + frame[18:-2]).hex())
    assert len(client.sent) == 40


def motors_become_ready(client: Client) -> None:
    """Motors are enabled at once and ready after alignment."""
    on = replace(motors_off(), enabled=np.ones(12, dtype=bool))
    for _ in range(3):
        packet = client.exchange(on)
    assert packet.enabled.all()
    assert not packet.ready.any()
    for _ in range(410):
        packet = client.exchange(on)
    assert packet.ready.all()


def notices_that_the_board_has_switched_off(client: Client) -> None:
    """Forty ticks pass without a command.

    Measurements continue, but motors are off and the lag grows.
    """
    stranger = EthernetLink(INTERFACE, source=bytes.fromhex("020000000002"))
    for _ in range(40):
        stranger.send(codec.encode_init(Init(99, 1)))  # each call is a tick without a command
        client.board.receive(WAIT)
    on = replace(motors_off(), enabled=np.ones(12, dtype=bool))
    for _ in range(30):
        packet = client.exchange(on)
    assert not packet.ready.any()
    assert client.board.command_lag == 30, client.board.command_lag
    stranger.close()


CHECKS: tuple[Callable[[Client], None], ...] = (
    handler_is_ours,
    connects,
    says_nothing_before_the_first_command,
    measures,
    refuses_what_the_wire_cannot_carry,
    puts_the_same_bytes_on_the_wire,
    motors_become_ready,
    notices_that_the_board_has_switched_off,
)


def main() -> None:
    """Run all checks and write the outcome; an empty text is success."""
    driver, protocol, result = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    outcome: dict[str, str] = {}
    content: dict[str, object] = {"outcome": outcome}
    try:
        client = Client(driver, protocol)
        for check in CHECKS:
            outcome[check.__name__] = _try(check, client)
            if outcome[check.__name__] and check is connects:
                break  # further checks would wait for answers
        content |= {"sent": client.sent, "measured": client.measured.hexdigest()}
        client.board.close()
    finally:
        result.write_text(json.dumps(content))
    os._exit(0)  # the vendor's receive thread would keep the process alive


def _try(check: Callable[[Client], None], client: Client) -> str:
    try:
        check(client)
    except Exception:
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    main()
