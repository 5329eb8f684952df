"""Added latency of motor commands: waiting time, and age of the active command."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.common.latency_padding import MOST_WAITING, LatencyPadding
from deploy.common.robot_constants import TICK, damping_command
from deploy.robots.process.gate_config import GateConfig
from solo_doi.solo12.constants import MOTOR_LAG, NUM_JOINTS
from solo_doi.solo12.state import JointCommand

EXPIRY = GateConfig().expiry


def holding(kp: float = 5.0) -> JointCommand:
    """Return a command that can be identified by its gain."""
    return JointCommand(position=np.zeros(NUM_JOINTS), kp=kp, kd=0.1)


def test_commands_act_when_their_measurement_is_as_old_as_in_training() -> None:
    """Until then, the previous damping stays active."""
    lag = LatencyPadding(MOTOR_LAG, damping_command())
    found = [lag.push(holding(k + 1), k * TICK, k * TICK) for k in range(40)]
    assert [command.kp for command, _ in found] == [0.0] * 15 + list(range(1, 26))
    np.testing.assert_allclose([observed for _, observed in found[15:]], np.arange(25) * TICK)


@pytest.mark.parametrize("ahead", [0.001, 1.0, 1e6, inf])
def test_no_command_waits_for_a_measurement_that_is_yet_to_come(ahead: float) -> None:
    """Its waiting time counts from its arrival; later commands act in time."""
    lag = LatencyPadding(MOTOR_LAG, damping_command())
    for k in range(100):
        acting, _ = lag.push(holding(k + 1), k * TICK + ahead, k * TICK)
        assert acting.kp == max(0, k - 14)


def test_damping_acts_at_once_and_forgets_what_waits() -> None:
    """Commands that were queued before do not become active."""
    lag = LatencyPadding(MOTOR_LAG, damping_command())
    for k in range(20):
        lag.push(holding(), k * TICK, k * TICK)
    for k in range(20, 60):
        acting, _ = lag.push(damping_command(), k * TICK, k * TICK)
        assert (acting.kp, lag.waiting) == (0.0, 0)
    assert lag.push(holding(), 0.2, 0.2)[0].kp == 0.0  # damping does not expire


@pytest.mark.parametrize(("stall", "acts"), [(0.0155, 1.0), (0.0165, 2.0), (0.05, 2.0)])
def test_after_a_stall_the_newest_acts_at_once(stall: float, acts: float) -> None:
    """Earlier commands may be too old to follow."""
    lag = LatencyPadding(MOTOR_LAG, damping_command())
    for k in range(30):
        lag.push(holding(1.0), k * TICK, k * TICK)
    now = 29 * TICK + stall
    assert lag.push(holding(2.0), now, now)[0].kp == acts


def test_a_constant_clock_does_not_fill_the_queue() -> None:
    """If too many commands wait, the oldest becomes active, late but in order."""
    lag = LatencyPadding(MOTOR_LAG, damping_command())
    found = [lag.push(holding(k + 1), 1.0, 1.0)[0].kp for k in range(200)]
    assert found[MOST_WAITING - 1 : MOST_WAITING + 3] == [0.0, 1.0, 2.0, 3.0]
    assert lag.waiting == MOST_WAITING


CALLS = st.lists(
    st.tuples(
        st.sampled_from(
            (0.0005, 0.001, 0.001, 0.005, 0.016, 0.019, 0.023, 0.08)
        ),  # time since the call before
        st.booleans(),  # True if a new command arrived
        st.sampled_from(
            (-0.06, -0.015, 0.0, 0.01, 5.0)
        ),  # claimed time of its measurement, relative to now
    ),
    max_size=200,
)


@given(CALLS)
def test_the_active_command_is_never_older_than_lag_and_expiry(
    calls: list[tuple[float, bool, float]],
) -> None:
    """For any times and stalls, its age is at most 15 ms of lag, 20 ms of expiry and a tick."""
    lag, now, kp, came, observed = (
        LatencyPadding(MOTOR_LAG, damping_command()),
        0.0,
        0.0,
        {0.0: inf},
        0.0,
    )
    for gap, fresh, ahead in calls:
        now += gap
        if fresh:
            kp, observed = kp + 1.0, now + ahead
            came[kp] = now
        followed = kp if now - came[kp] < EXPIRY else 0.0  # as the gate does
        acting, _ = lag.push(holding(followed), observed, now)
        assert acting.kp == 0.0 or now - came[float(acting.kp)] < MOTOR_LAG + EXPIRY + TICK + 1e-9
        assert lag.waiting <= MOST_WAITING
