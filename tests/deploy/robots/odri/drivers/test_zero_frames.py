"""Frames of zeros among the packets of a board."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deploy.robots.odri.drivers.zero_frames import MOST_RECENT, MOST_REPEATED, ZeroFrames
from deploy.robots.odri.wire.protocol import SensorPacket
from deploy.robots.virtual_board.body import ZERO_IMU
from tests.deploy.robots.odri.packets import sensor

ZEROS = np.zeros(12)


@pytest.fixture
def packet() -> SensorPacket:
    """Return a packet with numbers that are not zero."""
    imu = replace(ZERO_IMU, acceleration=np.array([0.0, 0.0, 9.81]))
    return replace(sensor(), position=np.full(12, 3.0), imu=imu)


@pytest.fixture
def frames(packet: SensorPacket) -> ZeroFrames:
    """Return a filter that has seen two packets of turning motors."""
    frames = ZeroFrames()
    frames.repaired(replace(packet, position=packet.position - 0.1))
    assert frames.repaired(packet) is packet
    return frames


def test_zero_positions_continue_the_motion(frames: ZeroFrames, packet: SensorPacket) -> None:
    for number in range(1, MOST_REPEATED + 1):
        repaired = frames.repaired(replace(packet, position=ZEROS))
        assert repaired.position == pytest.approx(packet.position + 0.1 * number)
    assert frames.counts == {"position zero frames": MOST_REPEATED}


def test_lasting_zero_positions_pass(frames: ZeroFrames, packet: SensorPacket) -> None:
    for _ in range(MOST_REPEATED):
        frames.repaired(replace(packet, position=ZEROS))
    for _ in range(3):
        assert not frames.repaired(replace(packet, position=ZEROS)).position.any()


def test_encoders_at_power_up_may_be_zero(packet: SensorPacket) -> None:
    frames = ZeroFrames()
    for _ in range(10):
        assert not frames.repaired(replace(packet, position=ZEROS)).position.any()
    assert not frames.counts


def test_zero_imu_frames_repeat_the_reading_before(
    frames: ZeroFrames, packet: SensorPacket
) -> None:
    for _ in range(MOST_RECENT):
        assert frames.repaired(replace(packet, imu=ZERO_IMU)).imu is packet.imu
    assert frames.counts == {"imu zero frames": MOST_RECENT}


def test_the_first_packet_passes(packet: SensorPacket) -> None:
    first = replace(packet, imu=ZERO_IMU, position=ZEROS)
    assert ZeroFrames().repaired(first) is first


def test_imu_zeros_that_recur_reach_the_checks(packet: SensorPacket) -> None:
    """Nineteen of twenty frames for ever are a broken sensor."""
    frames = ZeroFrames()
    passed = 0
    for k in range(100):
        sent = replace(packet, imu=ZERO_IMU) if k % 20 else packet
        passed += frames.repaired(sent).imu is ZERO_IMU
    assert passed
