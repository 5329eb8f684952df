"""Checks of a hanging robot during bring-up: attitude, IMU, battery."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deploy.robots.odri.bring_up.bring_up_guard import BringUpGuard
from deploy.robots.odri.wire.protocol import Power, SensorPacket
from tests.deploy.robots.odri.packets import sensor


def hanging(
    number: int = 0, attitude: tuple[float, float, float] = (0.0, 0.0, 0.0), voltage: float = 24.0
) -> SensorPacket:
    """Return the packet of a good robot; a different number changes its IMU."""
    packet = sensor(power=Power(voltage=voltage))
    return replace(
        packet,
        imu=replace(packet.imu, gyroscope=np.full(3, 0.001 * number), attitude=np.array(attitude)),
    )


@pytest.mark.parametrize("turn", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_robot_on_its_side_is_not_brought_up(turn: tuple[int, int]) -> None:
    """Tilts up to the gate's limit are accepted, for any heading."""
    roll, pitch = turn
    assert BringUpGuard().check(hanging(attitude=(1.19 * roll, 1.19 * pitch, 2.0))) == ""
    assert (
        BringUpGuard()
        .check(hanging(attitude=(1.21 * roll, 1.21 * pitch, 2.0)))
        .startswith("the base is tilted by 1.21 rad")
    )


def test_a_frozen_imu_is_found() -> None:
    """The fault comes after more than 20 ms of equal numbers; a changing IMU is never frozen."""
    guard = BringUpGuard()
    assert not any(guard.check(hanging(number)) for number in range(100))
    found = [guard.check(hanging()) for _ in range(22)]
    assert found[:21] == [""] * 21
    assert found[21] == "the IMU shows the same numbers for 21 ms"


def test_a_flat_battery_is_found() -> None:
    """An unknown voltage is not a fault."""
    assert BringUpGuard().check(hanging(voltage=float("nan"))) == ""
    assert BringUpGuard().check(hanging(voltage=20.0)) == ""
    assert BringUpGuard().check(hanging(voltage=19.9)) == "the battery gives 19.9 V"


def test_a_battery_that_is_lost_is_found() -> None:
    """A power board that has measured is not a missing one."""
    guard = BringUpGuard()
    assert guard.check(hanging(1)) == ""
    assert guard.check(hanging(2, voltage=3.0)) == "the battery gives 3.0 V"
