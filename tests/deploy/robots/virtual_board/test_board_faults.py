"""Faults of a robot that walks behind a master board, in simulated time."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.robot_constants import TICK, damping_command
from deploy.common.robot_error import RobotError
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, decode
from deploy.recorder.recorder import read_log, write_incident
from deploy.robots.odri.bring_up.bring_up_stage import Stage
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import RobotProcess
from deploy.robots.virtual_board.fault_switches import SWITCHES
from tests.deploy.board_fault_rows import BOARD_ROWS
from tests.deploy.board_world import STAGES, BoardRig, brought_up
from tests.deploy.launch.test_fault_matrix import LARGEST_LANDING_SPEED, LYING_DOWN
from tests.deploy.world import Wire, WireLink


@pytest.mark.parametrize("name", BOARD_ROWS)
def test_faults_end_in_damping_or_switched_off_motors(name: str, tmp_path: Path) -> None:
    """In every row drivers are released in time, the cause is named, and limits are kept.

    The robot does not move until re-armed.
    """
    row = BOARD_ROWS[name]
    rig = BoardRig(row.inject, watch=LYING_DOWN if row.sits else 0.6)
    rig.run(afterwards=LYING_DOWN if row.sits and name == "controller killed" else 0.1)
    assert not rig.ledger.beyond_limit
    assert rig.ledger.unharmed or not row.bounded
    if row.survives:
        assert rig.controller.state is ControllerState.WALK
        assert rig.causes == set()
        assert rig.recorder.incidents == []
        return
    assert rig.damped_after is not None
    took = rig.damped_after
    if row.sits:
        assert took <= LYING_DOWN
        took = rig.reacted_after
        assert took is not None
        assert rig.landing_speed <= LARGEST_LANDING_SPEED
    assert 0.0 <= took <= row.within
    assert rig.causes
    assert rig.causes <= row.causes
    if not rig.killed:
        assert row.rearms is None or rig.moves_again == row.rearms
        assert rig.recorder.incidents
        write_incident(rig.recorder.events, tmp_path / "incident", [], rig.recorder.incidents[0])
        channels = {channel for _, channel, _ in read_log(tmp_path / "incident" / "log.lcm")}
        assert {STATE_CHANNEL, COMMAND_CHANNEL} <= channels


def test_a_driver_error_is_reported_with_its_text() -> None:
    """Robot process and report contain the driver's own error, which identifies the cable."""
    told: list[str] = []

    def inject(rig: BoardRig) -> None:
        BOARD_ROWS["driver dead"].inject(rig)
        rig.later(0.01, lambda: told.append(str(rig.process.gate.fault)))

    BoardRig(inject).run()
    words = "driver 2 (FR_HFE, FR_KFE): no answer to the board"
    assert told == [f"the hardware reports error 15 at FR_HFE: {words}"]


@pytest.mark.parametrize("protocol", [3, 4])
def test_without_a_fault_the_robot_walks(protocol: int) -> None:
    """The rig causes no fault with both protocols, and its delay is that of training."""
    rig = BoardRig(lambda _: None, protocol=protocol, watch=0.4).run()
    assert rig.controller.state is ControllerState.WALK
    assert rig.process.delay_ms == {"min": 15.0, "p50": 15.0, "max": 15.0}
    assert rig.ledger.unharmed
    assert float(rig.board.body.plant.motion().linear_velocity_b[0]) > 0.4


def test_the_rig_repeats_itself() -> None:
    """Failures are reproducible.

    Two runs with the same faults are equal to the last bit.
    """
    runs = [
        BoardRig(BOARD_ROWS["20 % of packets lost"].inject).run().recorder.events for _ in range(2)
    ]
    first, second = (
        [
            decode(STATE_CHANNEL, data).joint_position
            for _, channel, data in run
            if channel == STATE_CHANNEL
        ]
        for run in runs
    )
    assert first == second


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_ends_every_stage_of_bring_up(stage: Stage) -> None:
    """From the next tick on, no driver holds a position or moves a rotor by itself.

    Bring-up does not start again.
    """
    clock, cable, robot = deepcopy(brought_up(4)[stage.value])
    board, ledger = cable.lock_step.board, cable.lock_step.board.body.ledger
    process = RobotProcess(robot, WireLink(Wire(clock)), Gate(), clock=clock)
    process.stop()

    def tick(now: float) -> None:
        process.tick(now)
        cable.tick()

    clock.tick = tick
    stopped = clock.now_ns() * 1e-9
    clock.sleep(0.5)
    last, powered = ledger.powered[-1]
    assert not powered
    assert last <= stopped + 0.002
    assert board.body.drivers.any_enabled == (
        stage not in (Stage.CHECK, Stage.ALIGN)
    )  # damped, or off
    assert robot.stage == Stage.FAILED.value
    assert process.gate.fault is not None
    assert process.gate.fault.cause is Cause.OPERATOR_STOP
    motion = board.body.plant.motion()
    assert float(np.abs(motion.joint_velocity).max()) < 0.5


@pytest.mark.parametrize("part", ["sense", "decide"])
def test_a_mistake_in_the_program_ends_bring_up(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate does not control the legs during bring-up.

    From the next tick on, no driver holds a position.
    """
    clock, cable, robot = deepcopy(brought_up(4)[Stage.SEARCH.value])
    ledger, process = (
        cable.lock_step.board.body.ledger,
        RobotProcess(robot, WireLink(Wire(clock)), Gate(), clock=clock),
    )
    clock.tick = lambda _: cable.tick()

    def tick(times: int) -> None:
        for _ in range(times):
            process.tick()
            clock.sleep(TICK)

    tick(3)
    assert ledger.powered[-1][1]
    with monkeypatch.context() as patch:
        patch.setattr(robot if part == "sense" else process.gate, part, lambda *_: 1 / 0)
        failed = clock.now_ns() * 1e-9
        tick(1)
    tick(500)
    last, powered = ledger.powered[-1]
    assert not powered
    assert last <= failed + 0.002
    assert process.gate.fault is not None
    assert process.gate.fault.cause is Cause.ROBOT_PROGRAM
    with pytest.raises(
        RobotError,
        match=r"searching index pulses: the robot's own program failed: ZeroDivisionError",
    ):
        tick(2000)


def test_a_failed_bring_up_is_an_error_once_joints_rest() -> None:
    """The error contains the stage and the cause.

    The motors are damped until the joints rest.
    """
    clock, cable, robot = deepcopy(brought_up(4)[Stage.SEARCH.value])
    SWITCHES["dead-driver"].act(cable.lock_step, 0)
    clock.tick = lambda _: cable.tick()
    broken = robot.time

    def tick(times: int) -> None:
        for _ in range(times):
            clock.sleep(TICK)
            robot.sense()
            robot.drive(damping_command(), robot.time)

    tick(1900)
    assert robot.stage == Stage.FAILED.value
    failed = r"Bring-up failed while searching index pulses: driver 0: no answer.*start"
    with pytest.raises(RobotError, match=failed) as given_up:
        tick(200)
    # The time of the failure, not of the error.
    assert given_up.value.since == pytest.approx(broken, abs=0.01)
