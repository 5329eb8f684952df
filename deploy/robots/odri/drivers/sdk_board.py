"""Driver of a master board with the vendor's library (wheel `master-board`, protocol 3).

This module works around the following behaviour of the library, each observed in a run:

- It replaces the handler of Ctrl-C by an exit without damping.
- It crashes on interfaces with unknown names, such as `lo`.
- Without CAP_NET_RAW it floods the terminal with messages.
- With a board of another protocol it waits without a message.
- It sends NaN as an extreme position, and clamps gains.
- It does not report that the board has switched the motors off (see `command_lag`, ready bits).
- It returns invalid data before the first packet.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.ethernet import mac_text
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.wire.protocol import (
    DRIVER_TIMEOUT_MS,
    NUM_DRIVERS,
    NUM_MOTORS,
    ImuReading,
    Malformed,
    MotorCommand,
    Power,
    SensorPacket,
)
from solo_doi.common.errors import MissingPackageError

from .board import WORD, BoardError, lag

POLL = 50e-6
"""Period of polling for a new packet [s]; the library receives in its own thread."""
LONGEST_SILENCE = 0.02
"""Silence after which `send` waits for a repeated packet; the library disconnects at 50 ms [s]."""
REPETITION_TIMEOUT = 2.0
"""Timeout for a repeated packet [s]."""
_SETTERS = {
    "position": "SetPositionReference",
    "velocity": "SetVelocityReference",
    "current": "SetCurrentReference",
    "kp": "SetKp",
    "kd": "SetKd",
    "saturation": "SetSaturationCurrent",
}


class SdkBoard:
    """Session through the vendor's library; one per process, as it cannot be closed completely."""

    driver = "sdk"
    rejected = None
    """Unknown: the library drops such frames silently."""

    def __init__(self, interface: str, *, lock_step: bool = False) -> None:
        """Open an interface; a board in lock-step repeats its measurements while it waits.

        Raises:
            RobotError: The name or the rights are wrong; `EthernetLink` checks both first.
        """
        self._listener = EthernetLink(interface)
        try:
            import libmaster_board_sdk_pywrap as vendor
        except ImportError as error:
            self._listener.close()
            remedy = "Make an environment that has it: solo-deploy install-robot"
            raise MissingPackageError("master-board", "The driver 'sdk'", remedy) from error
        self._interface = vendor.MasterBoardInterface(interface)
        handler = signal.getsignal(signal.SIGINT)
        self._interface.Init()
        # The library has installed its own handler, which exits without damping.
        signal.signal(signal.SIGINT, handler)
        self.protocol = int(self._interface.GetProtocolVersion())
        self.drivers = 0
        self.address = ""
        self._motors = [self._interface.GetMotor(motor) for motor in range(NUM_MOTORS)]
        self._drivers = [self._interface.GetDriver(driver) for driver in range(NUM_DRIVERS)]
        for driver in self._drivers:
            driver.EnablePositionRolloverError()
            driver.SetTimeout(DRIVER_TIMEOUT_MS)
            driver.Enable()
        self._seen = 0
        self._lock_step = lock_step
        self._last_packet = math.inf  # the library's timeout starts with the first packet

    def connect(self) -> bool:
        """Request a session; return True once the board has acknowledged it. Call once per tick."""
        if self.drivers:
            return True
        board = self._interface
        if not board.IsAckMsgReceived():
            board.SendInit()
        self._listen()
        if board.IsTimeout():
            raise BoardError(
                f"No board of protocol {self.protocol} answered; "
                "the driver 'native' also knows others."
            )
        if not board.IsAckMsgReceived() or not self.address:
            return False
        self.drivers = sum(1 << n for n, driver in enumerate(self._drivers) if driver.IsConnected())
        self._listener.close()
        return True

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements not returned before; wait at most `timeout` [s]."""
        deadline = time.monotonic() + timeout
        while (count := int(self._interface.GetSensorsSent())) == self._seen:
            if self._interface.IsTimeout():
                raise BoardError(
                    "The vendor's library closed the connection: no measurements for 50 ms. "
                    "Start again."
                )
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL)
        self._seen = count
        self._last_packet = time.monotonic()
        self._interface.ParseSensorData()
        return self._packet()

    def send(self, command: MotorCommand) -> None:
        """Send a command; refuse it if the protocol cannot carry it."""
        codec.check_command(command, self.protocol)
        for number, motor in enumerate(self._motors):
            for name, setter in _SETTERS.items():
                getattr(motor, setter)(float(getattr(command, name)[number]))
            motor.enable = bool(command.enabled[number])
            motor.enable_index_offset_compensation = bool(command.compensate_index[number])
        if self._lock_step and time.monotonic() - self._last_packet > LONGEST_SILENCE:
            await_repetition(self._interface)
        self._interface.SendCommand()

    @property
    def lost(self) -> int:
        """Number of sensor packets that the board sent but that did not arrive."""
        # The library counts a duplicate, as from a board in lock-step, as 65535 lost packets.
        return int(self._interface.GetSensorsLost()) % (WORD - 1)

    @property
    def command_lag(self) -> int:
        """Number of commands sent after the last one that the board has confirmed."""
        board = self._interface
        return lag(int(board.GetCmdPacketIndex()) - 1, int(board.GetLastRecvCmdIndex()))

    def close(self) -> None:
        """End the session; the board switches the motors off 20 ms later."""
        self._listener.close()
        self._interface.Stop()

    def _listen(self) -> None:
        """Read acknowledgements, for data that the library does not report.

        These are the board's address, and the protocol of a board that speaks another one.
        """
        while (frame := self._listener.receive(0.0)) is not None:
            ack = codec.decode_ack(frame.payload)
            if isinstance(ack, Malformed) or ack.session != int(self._interface.GetSessionId()):
                continue
            if ack.protocol != self.protocol:
                raise BoardError(
                    f"The master board's firmware speaks protocol {ack.protocol}, the vendor's "
                    f"library {self.protocol}: use the driver 'native'."
                )
            self.address = mac_text(frame.source)

    def _packet(self) -> SensorPacket:
        board = self._interface
        motors = self._motors
        return SensorPacket(
            session=int(board.GetSessionId()),
            index=self._seen % WORD,
            commands_lost=int(board.GetCmdLost()) % WORD,
            last_command=int(board.GetLastRecvCmdIndex()),
            system_on=np.array([driver.IsEnabled() for driver in self._drivers]),
            error=np.array([driver.GetErrorCode() for driver in self._drivers], dtype=np.intp),
            enabled=_column(motors, "is_enabled"),
            ready=_column(motors, "is_ready"),
            index_seen=_column(motors, "has_index_been_detected"),
            index_toggle=_column(motors, "index_toggle_bit"),
            position=_column(motors, "position"),
            velocity=_column(motors, "velocity"),
            current=_column(motors, "current"),
            imu=ImuReading(
                acceleration=_vector(board.imu_data_accelerometer),
                gyroscope=_vector(board.imu_data_gyroscope),
                attitude=_vector(board.imu_data_attitude),
                linear_acceleration=_vector(board.imu_data_linear_acceleration),
            ),
            power=Power(),
        )


def await_repetition(interface: Any) -> None:  # noqa: ANN401  # the vendor's
    """Wait until a board in lock-step has repeated its measurements.

    The library closes the connection if a command is sent 50 ms after the last packet, by its own
    clock. Its only sign of a repetition or duplicate is a count of 65535 lost packets, which `lost`
    subtracts again.
    """
    lost = interface.GetSensorsLost()
    deadline = time.monotonic() + REPETITION_TIMEOUT
    while interface.GetSensorsLost() == lost and time.monotonic() < deadline:
        time.sleep(POLL)


def _column(motors: list[Any], name: str) -> np.ndarray:
    """Return one field of every motor, (12,)."""
    return np.array([getattr(motor, name) for motor in motors])


def _vector(component: Callable[[int], float]) -> np.ndarray:
    return np.array(list(map(component, range(3))))
