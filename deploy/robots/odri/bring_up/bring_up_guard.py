"""Checks of attitude, IMU and battery during bring-up and calibration.

The limits are those of the gate, which is not active before joints are calibrated. A hanging robot
may swing and need not hang level. A larger tilt means that it hangs wrongly or that its IMU is
mounted wrongly; its legs would swing in unexpected directions.
"""

from __future__ import annotations

from math import acos, cos

from deploy.common.robot_constants import (
    FROZEN_AFTER,
    LARGEST_TILT,
    LEAST_WALKING_VOLTAGE,
    MEASURED_VOLTAGE,
    TICK,
)
from deploy.robots.odri.wire.protocol import SensorPacket


class BringUpGuard:
    """Checks attitude, IMU and battery in every packet."""

    def __init__(self) -> None:
        """Start without a packet."""
        self._imu = b""
        self._repeats = 0
        self._has_voltage = False

    def check(self, packet: SensorPacket) -> str:
        """Return the fault as text; empty if there is none."""
        imu = packet.imu.gyroscope.tobytes() + packet.imu.acceleration.tobytes()
        self._repeats = self._repeats + 1 if imu == self._imu else 0
        self._imu = imu
        roll, pitch, _ = packet.imu.attitude.tolist()
        tilt = acos(max(-1.0, min(1.0, cos(roll) * cos(pitch))))
        if self._repeats * TICK > FROZEN_AFTER:
            return f"the IMU shows the same numbers for {self._repeats * TICK * 1000:.0f} ms"
        if tilt > LARGEST_TILT:
            return (
                f"the base is tilted by {tilt:.2f} rad: "
                "hang it level, or check how the IMU is mounted"
            )
        self._has_voltage = self._has_voltage or packet.power.voltage > MEASURED_VOLTAGE
        # False for NaN, an unknown voltage, and for the 0 V of a missing power board.
        if self._has_voltage and packet.power.voltage < LEAST_WALKING_VOLTAGE:
            return f"the battery gives {packet.power.voltage:.1f} V"
        return ""
