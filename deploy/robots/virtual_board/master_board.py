"""Simulated master board: sessions, states and watchdogs of the firmware, one `tick` per ms."""

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
"""Duration of the search for drivers [ticks]."""
ACK_TIMEOUT = 1000
"""Longest time from the acknowledgement to the first command [ticks]."""
CONTROL_TIMEOUT = 20
"""Time without a command after which the motors are switched off [ticks]."""


class BoardState(Enum):
    """States of the firmware."""

    WAITING_FOR_INIT = "waiting for init"
    AUTODETECT = "looking for drivers"
    SENDING_ACK = "acknowledging"
    ACTIVE = "active control"
    LINK_DOWN = "link down"
    ERROR = "error"


COMMAND_TIMEOUT_TICKS = {BoardState.SENDING_ACK: ACK_TIMEOUT, BoardState.ACTIVE: CONTROL_TIMEOUT}
"""Longest time without a command in a state [ticks]."""
SENDS_SENSORS = frozenset({BoardState.AUTODETECT, BoardState.ACTIVE, BoardState.ERROR})


class MasterBoard:
    """Firmware of the board: receives payloads at any time, sends at most one per tick."""

    def __init__(self, body: Body, protocol: int, *, waits: bool = False) -> None:
        """Power up a board with the firmware of a protocol.

        With `waits`, the robot's time starts with the first command. The duration of connecting,
        which differs between runs, then has no effect.
        """
        self.body = body
        self.protocol = protocol
        self.stalled = False
        """True for a board that hangs: no packets to or from PC and drivers."""
        self.ticks = 0
        """Time of the robot [ticks]."""
        self.sensors_sent = 0
        """Number of sensor packets since the PC connected; the PC's time in lock-step [ticks]."""
        self._waits = waits
        self._power_up()

    def _power_up(self) -> None:
        self.state = self._next = BoardState.WAITING_FOR_INIT
        self._session = 0  # session of the last request
        self._answered_session = 0  # session in sensor packets, from the acknowledgement on
        self._drivers = p.ALL_DRIVERS
        self._silent = self._in_state = 0
        self._command: CommandPacket | None = None
        self._sensor_index = self._commands_lost = self._last_command = 0

    def power_cycle(self) -> None:
        """Switch board, drivers and IMU off and on."""
        self._power_up()
        self.body.power_cycle()

    def set_link(self, *, up: bool) -> None:
        """Plug or unplug the cable; the board detects it and then requires a new session."""
        if self.state is not BoardState.WAITING_FOR_INIT:
            self._next = BoardState.ERROR if up else BoardState.LINK_DOWN

    def receive(self, payload: bytes) -> bytes | None:
        """Process a payload; return an answer that is sent at once, outside the ticks, if any."""
        if self.stalled or self.state is BoardState.LINK_DOWN:
            return None
        if len(payload) == p.INIT.itemsize and self.state in (
            BoardState.WAITING_FOR_INIT,
            BoardState.ERROR,
        ):
            return self._receive_init(payload)
        if len(payload) == p.COMMAND_PACKET.itemsize and self.state in (
            BoardState.SENDING_ACK,
            BoardState.ACTIVE,
        ):
            self._receive_command(payload)
        return None

    def tick(self) -> bytes | None:
        """Advance by a millisecond: exchange with the drivers, move the robot, return a payload."""
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
        if self.state in SENDS_SENSORS:
            return self._sensor_payload()
        return None

    def _advance(self, command: CommandPacket | None) -> None:
        self._waits = self._waits and self._command is None
        if not self._waits:
            self.ticks += 1
            self.body.tick(command)

    def _receive_init(self, payload: bytes) -> bytes | None:
        init = codec.decode_init(payload)
        assert isinstance(init, Init)
        if init.protocol != self.protocol:
            # Version 4 answers with its own version; version 3 does not answer.
            if self.protocol < 4:
                return None
            return codec.encode_ack(Ack(self.protocol, init.session, self._drivers), 4)
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
        self.state = self._next
        self._in_state = 0
        if self.state is BoardState.AUTODETECT:
            self._drivers = 0
        elif self.state is BoardState.SENDING_ACK:
            self._answered_session = self._session
            self._drivers = self.body.drivers.answering
            self._sensor_index = self._commands_lost = self._silent = self.sensors_sent = 0

    def _next_command(self) -> CommandPacket:
        """Return the drivers' command: the PC's last one until its timeout, else motors off."""
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
    """Return the board's own command to its drivers: system on, motors off, no timeout."""
    nothing = np.zeros(p.NUM_MOTORS)
    none = np.zeros(p.NUM_MOTORS, dtype=bool)
    numbers = dict.fromkeys(("position", "velocity", "current", "kp", "kd", "saturation"), nothing)
    return CommandPacket(
        session=0,
        index=0,
        system_on=np.ones(p.NUM_DRIVERS, dtype=bool),
        timeout_ms=np.zeros(p.NUM_DRIVERS, dtype=np.intp),
        motors=MotorCommand(enabled=none, compensate_index=none, **numbers),
    )


MOTORS_OFF = _motors_off()
