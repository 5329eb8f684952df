"""Replacement of frames of zeros, which boards send now and then, in every packet.

Zeros in a single packet are no measurement: the IMU always shows gravity, and twelve encoders do
not return to where they were switched on at the same time. Bring-up, calibration and checks read
packets directly, so this happens before any of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from deploy.common.debounce import RollingCount
from deploy.robots.odri.wire.protocol import NUM_MOTORS, SensorPacket
from solo_doi.solo12.constants import Array

MOST_REPEATED = 3
"""Largest number of frames of zero positions in a row that are replaced."""
MOST_RECENT = 25
"""Largest number of replaced frames of a kind in 100; with more, the checks see the zeros."""


class ZeroFrames:
    """Replaces positions and IMU readings that are all zero by those of the packet before."""

    def __init__(self) -> None:
        """Start without a packet."""
        self.counts: Counter[str] = Counter()
        """Number of replaced frames by kind."""
        self._before: SensorPacket | None = None
        self._replaced = 0
        self._imu_zeros = RollingCount(MOST_RECENT)
        self._position_zeros = RollingCount(MOST_RECENT)
        self._step: Array = np.zeros(NUM_MOTORS)  # last change of the positions

    def repaired(self, packet: SensorPacket) -> SensorPacket:
        """Return the packet with plausible numbers."""
        before = self._before
        if before is not None:
            packet = self._with_positions(self._with_imu(packet, before), before)
            self._step = packet.position - before.position
        self._before = packet
        return packet

    def _with_imu(self, packet: SensorPacket, before: SensorPacket) -> SensorPacket:
        # Frames of zeros that last repeat the same numbers, which is IMU_FROZEN.
        is_zero = not any(packet.imu.gyroscope.tolist() + packet.imu.acceleration.tolist())
        is_broken = self._imu_zeros.exceeded(is_zero)
        if not is_zero or is_broken:
            return packet
        self.counts["imu zero frames"] += 1
        return replace(packet, imu=before.imu)

    def _with_positions(self, packet: SensorPacket, before: SensorPacket) -> SensorPacket:
        is_zero = not any(packet.position.tolist()) and any(before.position.tolist())
        is_broken = self._position_zeros.exceeded(is_zero)
        if not is_zero or is_broken or self._replaced == MOST_REPEATED:
            self._replaced = 0
            return packet
        self._replaced += 1
        self.counts["position zero frames"] += 1
        # Not from the velocity, which may be an outlier itself.
        return replace(packet, position=before.position + self._step)
