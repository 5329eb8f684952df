"""Statistics of a board's packets while the robot rests: number, regularity, mean measurements."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from deploy.robots.odri.drivers.board import WORD, Board
from deploy.robots.odri.drivers.board_sensors import driver_faults
from deploy.robots.odri.drivers.motors import joint_position
from deploy.robots.odri.wire.protocol import SensorPacket
from solo_doi.solo12.constants import NUM_JOINTS

MOST_GAPS = 100_000
"""Largest number of stored intervals between packets; the oldest are dropped."""
AT_POWER_UP = np.zeros(NUM_JOINTS)
"""Offsets for joint angles relative to those at power-up [rad]."""


class PacketStatistics:
    """Counts packets, and averages their measurements."""

    def __init__(self, board: Board) -> None:
        """Start with the next packet."""
        self._board = board
        self._lost_before = board.lost
        self.packets = 0
        self.last: SensorPacket | None = None
        self._first_commands_lost = 0
        self._since = self._time = 0.0
        self._sent = self._lag = self._same = self._longest_same = 0
        self._gaps: deque[float] = deque(maxlen=MOST_GAPS)
        self._faults: set[str] = set()
        self._jump = (0, 0.0)
        self._imu = np.zeros((3, 3))  # sums of acceleration, gyroscope, attitude
        self._voltage = self._current = float("nan")

    def add(self, packet: SensorPacket, time: float) -> None:
        """Add a packet that arrived at a time [s]."""
        if self.last is None:
            self._since = time
            self._first_commands_lost = packet.commands_lost
        else:
            self._gaps.append(time - self._time)
            self._compare(self.last, packet)
        self.packets += 1
        self.last = packet
        self._time = time
        self._faults.update(driver_faults(packet))
        self._lag = max(self._lag, self._board.command_lag)
        self._imu += [packet.imu.acceleration, packet.imu.gyroscope, packet.imu.attitude]
        self._voltage = float(np.fmin(self._voltage, packet.power.voltage))
        self._current = float(np.fmax(self._current, packet.power.current))

    @property
    def lost(self) -> int:
        """Number of packets that were sent but did not arrive."""
        return self._board.lost - self._lost_before

    @property
    def seconds(self) -> float:
        """Time from the first packet to the last [s]."""
        return self._time - self._since

    def result(self) -> dict[str, Any]:
        """Return the statistics as JSON values; `go_checks` judges them."""
        if self.last is None or not self._gaps:
            return {"packets": self.packets}
        acceleration, gyroscope, attitude = (self._imu / self.packets).tolist()
        return {
            "packets": self.packets,
            "seconds": self.seconds,
            "sent": self._sent,
            "lost": self.lost,
            "lag": self._lag,
            "commands_lost": (self.last.commands_lost - self._first_commands_lost) % WORD,
            "gaps": np.percentile(self._gaps, [50, 99, 100]).tolist(),
            "faults": sorted(self._faults),
            "system_on": self.last.system_on.tolist(),
            "jump": list(self._jump),
            "imu_same": self._longest_same,
            "acceleration": acceleration,
            "gyroscope": gyroscope,
            "attitude": attitude,
            "voltage": self._voltage,
            "current": self._current,
        }

    def _compare(self, before: SensorPacket, packet: SensorPacket) -> None:
        self._sent += (packet.index - before.index) % WORD
        step = np.abs(joint_position(packet, AT_POWER_UP) - joint_position(before, AT_POWER_UP))
        if step.max() > self._jump[1]:
            self._jump = int(np.argmax(step)), float(step.max())
        same = np.array_equal(packet.imu.gyroscope, before.imu.gyroscope)
        same = same and np.array_equal(packet.imu.acceleration, before.imu.acceleration)
        self._same = self._same + 1 if same else 0
        self._longest_same = max(self._longest_same, self._same)
