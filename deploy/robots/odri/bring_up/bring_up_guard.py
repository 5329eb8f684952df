"""What is watched beside the joints while a robot that hangs is brought up or calibrated: attitude, IMU, battery.

The same limits as the gate's, which has no say before joints are calibrated. A robot that hangs may swing and be
crooked, but not lie on its side: then it hangs wrongly or its IMU is turned, and legs swing where nobody expects them.
"""

from __future__ import annotations

from math import acos, cos

from deploy.common.robot_constants import FROZEN_AFTER, LARGEST_TILT, LEAST_VOLTAGE, TICK
from deploy.robots.odri.wire.protocol import SensorPacket


class BringUpGuard:
    """Fed with every packet."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._imu = b""
        self._same = 0

    def check(self, packet: SensorPacket) -> str:
        """Return what is wrong, in words; nothing if all is well."""
        imu = packet.imu.gyroscope.tobytes() + packet.imu.acceleration.tobytes()
        self._same = self._same + 1 if imu == self._imu else 0
        self._imu = imu
        roll, pitch, _ = packet.imu.attitude.tolist()
        tilt = acos(max(-1.0, min(1.0, cos(roll) * cos(pitch))))
        if self._same * TICK > FROZEN_AFTER:
            return f"the IMU shows the same numbers for {self._same * TICK * 1000:.0f} ms"
        if tilt > LARGEST_TILT:
            return f"the base is tilted by {tilt:.2f} rad: hang it level, or check how the IMU is mounted"
        if packet.power.voltage < LEAST_VOLTAGE:  # False where the voltage is unknown
            return f"the battery gives {packet.power.voltage:.1f} V"
        return ""
