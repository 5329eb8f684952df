"""Faults of a walking robot.

The robot is damped in time with a named cause, or continues to walk.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import STATE_CHANNEL, decode
from deploy.operators.operators import Script, Spectator
from deploy.recorder.recorder import read_log, write_log
from tests.deploy.fault_rows import ROWS, counts, named
from tests.deploy.world import Eager, Rig

LYING_DOWN = 4.0
"""Longest time from a fault until a robot that lies down is damped [s]."""
LARGEST_LANDING_SPEED = 0.15
"""Largest speed of a belly that lands [m/s]."""


@pytest.mark.parametrize("name", ROWS)
def test_faults_end_in_damping_or_have_no_effect(name: str, tmp_path: Path) -> None:
    """Every row of the matrix runs in simulated time.

    Checked are cause, time to damping, exit code, log and limits.
    """
    row = ROWS[name]
    rig = Rig(row.inject, watch=LYING_DOWN if row.sits else 0.6)
    rig.run(afterwards=LYING_DOWN if row.sits and name == "controller killed" else 0.1)
    assert rig.ledger.unharmed
    assert not row.counted or counts(rig, row.counted) > 0
    if row.survives:
        assert rig.problems == [
            "stopped before the script was done"
        ]  # the test stopped it; there is no other problem
        assert rig.controller.state is ControllerState.WALK
        assert named(rig) == set()
    else:
        took = rig.damp_told_after if name == "robot process killed" else rig.damped_after
        assert took is not None
        if row.sits:
            assert took <= LYING_DOWN
            took = rig.reacted_after
            assert took is not None
            assert rig.landing_speed <= LARGEST_LANDING_SPEED
        assert 0.0 <= took <= row.within
        assert named(rig)
        assert named(rig) <= row.causes
        assert rig.problems  # the exit code is 1
        assert len(rig.recorder.incidents) == (0 if rig.killed else 1)
    write_log(rig.recorder.events, tmp_path / "log")
    states = [
        decode(STATE_CHANNEL, data)
        for _, channel, data in read_log(tmp_path / "log")
        if channel == STATE_CHANNEL
    ]
    assert rig.injected is not None
    assert len(states) >= 1000 * rig.injected - 2  # the log reaches to the fault


def test_without_a_fault_the_robot_walks(tmp_path: Path) -> None:
    """The rig itself causes no fault.

    A whole script over a wire that loses one packet in ten ends with exit code 0.
    """
    script = Script((2,), 0.6, settle=1.0)  # until it is at rest
    rig = Rig(
        ROWS["10 % of packets lost"].inject,
        state=ControllerState.IDLE,
        after=0.0,
        watch=20.0,
        operator=script,
    )
    rig.run()
    assert rig.problems == []
    assert [entry["state"] for entry in rig.loop.report.history] == [
        "IDLE", "STAND", "READY", "WALK", "STAND", "READY", "SIT", "IDLE",
    ]  # fmt: skip
    assert rig.process.delay_ms is not None
    assert 10.0 <= rig.process.delay_ms["min"] <= rig.process.delay_ms["max"] <= 25.0
    assert rig.ledger.unharmed


@pytest.mark.parametrize(
    "state",
    [
        ControllerState.IDLE,
        ControllerState.STAND,
        ControllerState.READY,
        ControllerState.WALK,
        ControllerState.SIT,
    ],
)
def test_ctrl_c_damps_at_once_in_every_state(state: ControllerState) -> None:
    """In every state a stop by the operator acts in the next tick, and is in the report."""

    def stop(rig: Rig) -> None:
        rig.stopped = True
        rig.process.stop()

    after = (
        0.1 if state in (ControllerState.STAND, ControllerState.WALK, ControllerState.SIT) else 0.0
    )
    rig = Rig(
        stop, state=state, after=after, operator=Eager(sits=state is ControllerState.SIT)
    ).run()
    assert rig.problems == ["stopped before the script was done"]
    assert rig.loop.report.ended == "stopped"
    assert rig.damped_after is not None
    assert rig.damped_after <= 0.0011
    assert rig.ledger.unharmed


def test_setting_the_date_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time server may change the date while the robot walks.

    Only log entries use the date.
    """

    def step(_: Rig) -> None:
        monkeypatch.setattr(time, "time", lambda: 0.0)
        monkeypatch.setattr(time, "time_ns", lambda: 0)

    rig = Rig(step, watch=0.1, robot="mock", state=ControllerState.READY, after=0.0).run()
    assert rig.problems == ["stopped before the script was done"]


def test_a_read_only_run_never_commands() -> None:
    """Read-only means that no command leaves the controller, which is not a fault."""
    rig = Rig(robot="mock", operator=Spectator(0.5)).run(readonly=True)
    assert rig.problems == []
    assert rig.process.gate.followed is None
    assert {channel for _, channel, _ in rig.recorder.events} == {STATE_CHANNEL}
    assert rig.controller.estimate is not None
    assert rig.loop.report.ended == "done"


def test_the_rig_repeats_itself() -> None:
    """Failures are reproducible.

    Two runs with the same faults are equal to the last bit.
    """
    first, second = (
        [
            data
            for _, channel, data in Rig(ROWS["30 % of packets lost"].inject).run().recorder.events
            if channel == STATE_CHANNEL
        ]
        for _ in range(2)
    )
    positions = [
        [decode(STATE_CHANNEL, data).joint_position for data in run] for run in (first, second)
    ]
    assert positions[0] == positions[1]
