"""The master board itself: sessions, states and watchdogs, one `tick` per millisecond, as its firmware has them."""

from __future__ import annotations

from enum import Enum

import numpy as np

from deploy.robots.odri.drivers.board import WORD
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.protocol import (
    Ack,
    CommandPacket,
    Init,
    Malformed,
    MotorCommand,
    SensorPacket,
)

from .body import Body

AUTODETECT_TICKS = 50
ACK_TIMEOUT = 1000
"""Ticks an acknowledged session waits for its first command."""
CONTROL_TIMEOUT = 20
"""Ticks without a command after which the motors are switched off."""


class BoardState(Enum):
    """What the board waits for."""

    WAITING_FOR_INIT = "waiting for init"
    AUTODETECT = "looking for drivers"
    SENDING_ACK = "acknowledging"
    ACTIVE = "active control"
    LINK_DOWN = "link down"
    ERROR = "error"


COMMAND_TIMEOUT_TICKS = {BoardState.SENDING_ACK: ACK_TIMEOUT, BoardState.ACTIVE: CONTROL_TIMEOUT}
"""Ticks without a command that a state allows."""
SENDS_SENSORS = frozenset({BoardState.AUTODETECT, BoardState.ACTIVE, BoardState.ERROR})


class MasterBoard:
    """Takes payloads from the PC whenever they come, and gives at most one payload per tick."""

    def __init__(self, body: Body, protocol: int, *, waits: bool = False) -> None:
        """Power up a board whose firmware speaks a protocol.

        With `waits`, the robot's time begins with the first command: how long a PC took to connect, which no two
        runs have in common, then changes nothing.
        """
        self.body, self.protocol = body, protocol
        self.stalled = False
        """A board that hangs: takes nothing, sends nothing, and leaves its drivers without packets."""
        self.ticks = 0
        """Of the robot's time."""
        self.sensors_sent = 0
        """Measurements sent since the PC was acknowledged: the time that a PC in lock-step knows [ticks]."""
        self._waits = waits
        self._power_up()

    def _power_up(self) -> None:
        self.state = self._next = BoardState.WAITING_FOR_INIT
        self._session = 0  # of the last init
        self._answered_session = 0  # in sensor packets, from the acknowledgement on
        self._drivers = p.ALL_DRIVERS
        self._silent = self._in_state = 0
        self._command: CommandPacket | None = None
        self._sensor_index = self._commands_lost = self._last_command = 0

    def power_cycle(self) -> None:
        """Switch board, drivers and IMU off and on."""
        self._power_up()
        self.body.power_cycle()

    def set_link(self, *, up: bool) -> None:
        """Plug or unplug the cable; the board notices, and demands a new session afterwards."""
        if self.state is not BoardState.WAITING_FOR_INIT:
            self._next = BoardState.ERROR if up else BoardState.LINK_DOWN

    def receive(self, payload: bytes) -> bytes | None:
        """Take a payload; return what is answered at once, outside the ticks."""
        if self.stalled or self.state is BoardState.LINK_DOWN:
            return None
        if len(payload) == p.INIT.itemsize and self.state in (
            BoardState.WAITING_FOR_INIT,
            BoardState.ERROR,
        ):
            return self._receive_init(payload)
        if len(payload) == p.COMMAND.itemsize and self.state in (
            BoardState.SENDING_ACK,
            BoardState.ACTIVE,
        ):
            self._receive_command(payload)
        return None

    def tick(self) -> bytes | None:
        """Let a millisecond pass: talk to the drivers, move the robot, and return what is sent to the PC."""
        if self.stalled:
            self._advance(None)
            return None
        self._change_state()
        self._in_state += 1
        self._advance(self._next_command())
        if self.state is BoardState.SENDING_ACK:
            return codec.encode_ack(
                Ack(self.protocol, self._answered_session, self._drivers), self.protocol
            )
        return self._sensor_payload() if self.state in SENDS_SENSORS else None

    def _advance(self, command: CommandPacket | None) -> None:
        self._waits = self._waits and self._command is None
        if not self._waits:
            self.ticks += 1
            self.body.tick(command)

    def _receive_init(self, payload: bytes) -> bytes | None:
        init = codec.decode_init(payload)
        assert isinstance(init, Init)
        if init.protocol != self.protocol:
            # Version 4 tells which version it speaks; version 3 says nothing.
            return (
                codec.encode_ack(Ack(self.protocol, init.session, self._drivers), 4)
                if self.protocol >= 4
                else None
            )
        self._session = init.session
        self._next = BoardState.AUTODETECT
        return None

    def _receive_command(self, payload: bytes) -> None:
        command = codec.decode_command(payload)
        if isinstance(command, Malformed) or command.session != self._session:
            return
        if self.state is BoardState.SENDING_ACK:
            self._next = BoardState.ACTIVE
            self._last_command = (command.index - 1) % WORD
        self._commands_lost = (self._commands_lost + command.index - self._last_command - 1) % WORD
        self._last_command = command.index
        self._command = command
        self._silent = 0

    def _change_state(self) -> None:
        if self._next is self.state:
            return
        self.state, self._in_state = self._next, 0
        if self.state is BoardState.AUTODETECT:
            self._drivers = 0
        elif self.state is BoardState.SENDING_ACK:
            self._answered_session = self._session
            self._drivers = self.body.drivers.answering
            self._sensor_index = self._commands_lost = self._silent = self.sensors_sent = 0

    def _next_command(self) -> CommandPacket:
        """What the drivers get in this tick: the PC's last command as long as it is young, else motors off."""
        if self.state is BoardState.AUTODETECT and self._in_state > AUTODETECT_TICKS:
            self._next = BoardState.SENDING_ACK
        limit = COMMAND_TIMEOUT_TICKS.get(self.state)
        if limit is None:
            self._silent = 0
            return MOTORS_OFF
        if self._silent > limit:
            self._next = BoardState.ERROR
            return MOTORS_OFF
        self._silent += 1
        if self.state is BoardState.SENDING_ACK or self._command is None:
            return MOTORS_OFF
        return self._command

    def _sensor_payload(self) -> bytes:
        self._sensor_index = (self._sensor_index + 1) % WORD
        self.sensors_sent += 1
        sensor = SensorPacket(
            session=self._answered_session,
            index=self._sensor_index,
            commands_lost=self._commands_lost,
            last_command=self._last_command,
            **self.body.reading(),
        )
        return codec.encode_sensor(sensor, self.protocol)


def _motors_off() -> CommandPacket:
    """Return what the board sends to its drivers by itself: the system stays on, no motor is, and nothing times out."""
    nothing, none = np.zeros(p.NUM_MOTORS), np.zeros(p.NUM_MOTORS, dtype=bool)
    numbers = dict.fromkeys(("position", "velocity", "current", "kp", "kd", "saturation"), nothing)
    return CommandPacket(
        session=0,
        index=0,
        system_on=np.ones(p.NUM_DRIVERS, dtype=bool),
        timeout_ms=np.zeros(p.NUM_DRIVERS, dtype=np.intp),
        motors=MotorCommand(enabled=none, compensate_index=none, **numbers),
    )


MOTORS_OFF = _motors_off()
