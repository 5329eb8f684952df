"""Release of the motors.

The position gain is zero from the first tick on, and damping changes to its full gain.
"""

from __future__ import annotations

import numpy as np
import pytest

from deploy.common.robot_constants import DAMPING_GAIN
from deploy.robots.process.damping import RAMP, Damping
from deploy.robots.process.gate import Gate

from .test_gate import NOW, command, state


@pytest.mark.parametrize("kd", [0.0, 0.05, 0.2, 0.6])
def test_damping_grows_from_the_gain_that_was_held(kd: float) -> None:
    """The gain changes linearly within the stated time, from below and from above.

    The position gain is zero at once.
    """
    gate = Gate()
    gate.offer(command(kd=kd))
    assert gate.decide(state(), NOW).kd == kd
    gate.offer(command(kp=99.0))
    ticks = round(1000 * RAMP)
    found = [gate.decide(state(NOW + k / 1000), NOW + k / 1000) for k in range(1, ticks + 20)]
    assert [decided.kp for decided in found] == [0.0] * len(found)
    expected = [kd + min(1.0, k / ticks) * (DAMPING_GAIN - kd) for k in range(1, ticks + 20)]
    np.testing.assert_allclose([decided.kd for decided in found], expected, atol=1e-9)
    assert found[-1].kd == DAMPING_GAIN


def test_a_clock_that_goes_back_does_not_grow_the_gain() -> None:
    """It stays between both gains at any time."""
    gate = Gate()
    gate.offer(command(kd=0.1))
    gate.decide(state(), NOW)
    gate.offer(command(kp=99.0))
    assert gate.decide(state(NOW - 1.0), NOW - 1.0).kd == 0.1


def test_motors_without_a_previous_gain_are_damped_in_full() -> None:
    """At the start there is no previous gain."""
    gate = Gate()
    assert gate.decide(state(), NOW).kd == DAMPING_GAIN


def test_full_damping_is_full_to_the_last_bit() -> None:
    """The result is exact for any previous gain, even a huge one with rounding errors."""
    damping = Damping()
    damping.hold(1e16, 1.0)
    assert damping.gain(1.0 + 2 * RAMP) == DAMPING_GAIN
