"""The whole robot on a virtual board: calibrated, put down, standing.

Every stage is also tested with its failures.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from deploy.common.robot_constants import DAMPING_GAIN
from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.bring_up import FOLDED_POSE
from deploy.robots.odri.bring_up.bring_up_stage import Stage
from deploy.robots.odri.bring_up.calibration import CalibrationError
from deploy.robots.odri.drivers.board import BoardError
from deploy.robots.odri.drivers.motors import GAIN_PER_AMPERE, MOTOR_OF_JOINT
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.virtual_board.body import BodyConfig
from deploy.robots.virtual_board.fault_switches import SWITCHES
from deploy.robots.virtual_board.memory_link import MemoryLink
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.limits import DRIVER_LIMITS
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.solo12.state import JointCommand

from .robots import CALIBRATION, Run

SETUP = CONTROL_SETUPS["locomotion"]
START = np.random.default_rng(3).uniform(-0.2, 0.2, 12)


def stand(run: Run, seconds: float) -> None:
    """Move from the folded pose to standing, and stay."""
    first = run.positions[-1]
    for tick in range(round(1000 * seconds)):
        part = min(tick / 1000, 1.0)
        run.tick(
            JointCommand(
                position=first + part * (SETUP.default_pose - first), kp=SETUP.kp, kd=SETUP.kd
            )
        )


@pytest.fixture(scope="module", params=[3, 4])
def calibrated(request: pytest.FixtureRequest) -> Run:
    """Return a robot after bring-up, once per protocol; the tests continue from there, in order."""
    run = Run(request.param, BodyConfig(start_pose=START, lower_after=0.1))
    run.bring_up()
    return run


def test_calibrated_angles_are_true(calibrated: Run) -> None:
    """In the folded pose all joints are within 2 mrad of the simulated truth, from any start."""
    assert calibrated.robot.is_calibrated
    np.testing.assert_allclose(calibrated.positions[-1], calibrated.truth, atol=0.002)
    np.testing.assert_allclose(calibrated.truth, FOLDED_POSE, atol=0.1)
    assert calibrated.stages[1:] == [
        stage.value
        for stage in (
            Stage.CHECK,
            Stage.ALIGN,
            *(Stage.SEARCH, Stage.SETTLE, Stage.FOLD) * 2,
            Stage.DONE,
        )
    ]


def test_bring_up_was_gentle(calibrated: Run) -> None:
    """No joint leaves the driver's limits.

    No position jumps, except once when coordinates change to the index.
    """
    truths = np.array(calibrated.truths)
    assert (np.abs(truths) < DRIVER_LIMITS.position).all()
    assert np.abs(np.diff(truths, axis=0)).max() < 0.005  # 5 rad/s
    jumps = (np.abs(np.diff(calibrated.positions, axis=0)) > 0.02).sum(axis=0)
    assert (jumps <= 1).all()  # the one at which the coordinates change


def test_it_stands_where_it_is_put(calibrated: Run) -> None:
    """The crane lowers the robot onto its legs.

    At training's gains it stands level and at standing height.
    """
    for _ in range(2500):
        calibrated.tick(JointCommand(position=FOLDED_POSE, kp=SETUP.kp, kd=SETUP.kd))
    assert calibrated.board.body.plant.crane.released
    stand(calibrated, 2.0)
    sensors = calibrated.sensors
    assert sensors is not None
    assert sensors.ready.all()
    assert sensors.faults == ()
    assert sensors.command_lag <= 1
    assert sensors.time == pytest.approx(len(calibrated.positions) / 1000)
    motion = calibrated.board.body.plant.motion()
    assert motion.base_position_w[2] == pytest.approx(SETUP.standing_height, abs=0.03)
    np.testing.assert_allclose(projected_gravity(sensors.quaternion), [0, 0, -1], atol=0.05)
    np.testing.assert_allclose(sensors.acceleration_b, [0, 0, 9.81], atol=0.5)
    np.testing.assert_allclose(sensors.joint_position, calibrated.truth, atol=0.002)
    assert np.isnan(sensors.voltage) == (calibrated.board.protocol == 3)


def test_a_gain_beyond_the_protocol_is_never_sent(calibrated: Run) -> None:
    """The robot process refuses such a gain before, by `largest_gains`.

    If that check failed, the gain would still not be clamped silently.
    """
    largest, _ = calibrated.robot.largest_gains
    assert largest == pytest.approx({3: 10.31, 4: 5.157}[calibrated.board.protocol], abs=0.005)
    calibrated.robot.sense()
    with pytest.raises(RobotError, match=r"kp is 20.*protocol"):
        calibrated.robot.drive(JointCommand(position=SETUP.default_pose, kp=20.0, kd=0.1), 0.0)
    with pytest.raises(RobotError, match="position is nan"):
        calibrated.robot.drive(JointCommand(position=np.full(12, np.nan), kp=1.0, kd=0.1), 0.0)
    stand(calibrated, 0.01)
    assert calibrated.sensors is not None
    assert calibrated.sensors.ready.all()


def test_a_dead_driver_is_named_and_its_joints_are_not_ready(calibrated: Run) -> None:
    """Driver 2 has the knee and thigh of the front right leg.

    They keep their last measurements, the others continue.
    """
    SWITCHES["dead-driver"].act(calibrated.lock_step, 2)
    stand(calibrated, 0.003)
    assert calibrated.sensors is not None
    assert np.abs(calibrated.sensors.joint_position[[4, 5]] - calibrated.truth[[4, 5]]).max() < 0.05
    assert np.flatnonzero(calibrated.sensors.errors).tolist() == [4, 5]
    assert calibrated.sensors.faults == ("driver 2 (FR_HFE, FR_KFE): no answer to the board",)
    assert calibrated.sensors.ready.tolist() == [True] * 4 + [False] * 2 + [True] * 6


def test_closing_damps_and_falls_silent(calibrated: Run) -> None:
    """The board switches the motors off by itself 20 ms later."""
    calibrated.robot.close()
    for _ in range(30):
        calibrated.board.tick()
    assert not calibrated.board.body.drivers.reading()["enabled"].any()


def test_the_same_run_twice_is_the_same_run() -> None:
    """In lock-step both runs are equal to the last bit."""
    hashes = set()
    for _ in range(2):
        run = Run(4, BodyConfig(start_pose=START))
        for _ in range(1200):
            run.tick()
        hashes.add(hashlib.sha256(np.array(run.positions).tobytes()).hexdigest())
    assert len(hashes) == 1


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold in half a second, to shorten tests of other properties."""
    monkeypatch.setattr("deploy.robots.odri.bring_up.bring_up.FOLD_TIME", 0.5)


def fail(run: Run) -> str:
    """Run a bring-up that must fail.

    Return the cause, after a check that motors are damped or off.
    """
    sensors = run.bring_up(8000)
    assert not run.robot.is_calibrated
    assert not sensors.ready.any()
    command = run.robot._bring_up.step(None, 0.0)  # type: ignore[union-attr]
    assert not command.kp.any()
    np.testing.assert_allclose(command.kd * GAIN_PER_AMPERE, DAMPING_GAIN)  # as the gate damps
    return "; ".join(sensors.faults)


def test_a_joint_far_from_zero_is_found_out() -> None:
    """The index of the joint is 40 degrees off.

    With the vendor's calibration, all angles would be silently wrong.
    """
    start = START.copy()
    start[4] = 0.31
    cause = fail(Run(4, BodyConfig(start_pose=start)))
    assert "FR_HFE" in cause
    assert "wrong index" in cause


@pytest.mark.usefixtures("quick")
def test_an_index_is_found_on_either_side() -> None:
    """Joints that start just before or behind their index end at the same angles."""
    beside = CALIBRATION.offset + np.where(np.arange(12) % 2, 0.02, -0.02)
    start = np.where(np.abs(beside) < 0.24, beside, START)
    run = Run(4, BodyConfig(start_pose=start))
    run.bring_up()
    np.testing.assert_allclose(run.positions[-1], run.truth, atol=0.002)


@pytest.mark.usefixtures("quick")
def test_a_second_session_without_power_off_is_calibrated_as_well() -> None:
    """Motors keep their index and do not search again.

    The robot must be put to zero once more.
    """
    first = Run(4, BodyConfig(start_pose=START))
    while first.robot.stage != Stage.FOLD.value:
        first.tick()
    for _ in range(60):  # the PC is gone
        first.board.tick()
    first.board.body.plant.put_joints(-START)
    first.board.body.plant.hold_joints(held=True)
    second = Run(4, BodyConfig(), lock_step=first.lock_step, session=78)
    while second.robot.stage != Stage.ALIGN.value:
        second.tick()
    first.board.body.plant.hold_joints(held=False)
    second.bring_up()
    np.testing.assert_allclose(second.positions[-1], second.truth, atol=0.002)


@pytest.mark.parametrize(
    ("switch", "value", "tick", "cause"),
    [
        ("encoder-error", 7, 700, "driver 3: encoder 2 error"),
        ("dead-driver", 0, 700, "driver 0: no answer"),
        ("encoder-error", 7, 80, "driver 3: encoder 2 error"),
        ("imu-freeze", 1, 700, "the IMU shows the same numbers for 21 ms"),
        ("imu-freeze", 1, 80, "the IMU shows the same numbers for 21 ms"),
        ("battery", 19, 700, "the battery gives 1"),
    ],
)
def test_faults_during_bring_up_end_it(switch: str, value: float, tick: int, cause: str) -> None:
    """The report contains the cause, in any stage."""
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(tick):
        run.tick()
    SWITCHES[switch].act(run.lock_step, value)
    for _ in range(25):
        run.tick()
    assert run.sensors is not None
    assert any(cause in fault for fault in run.sensors.faults)


def test_a_board_that_takes_no_commands_during_bring_up_ends_it() -> None:
    """The board switches the motors off and still sends measurements.

    The unchanged index of the confirmed command shows the failure.
    """
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(700):
        run.tick()
    run.lock_step.to_board.faults.drop = 1.0
    for _ in range(13):
        run.tick()
    assert run.sensors is not None
    assert run.sensors.faults == (
        "searching index pulses: the master board takes no commands any more, and has switched "
        "the motors off",
    )


def test_motors_that_were_never_on_stay_off_after_a_failure() -> None:
    """Enabling the motors would move them, so a failure before that leaves them off."""
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(60):
        run.tick()
    assert run.robot.stage == Stage.CHECK.value
    SWITCHES["encoder-error"].act(run.lock_step, 7)
    for _ in range(100):
        run.tick()
    assert run.robot.stage == Stage.FAILED.value
    assert not run.board.body.drivers.reading()["enabled"].any()


def test_a_board_that_falls_silent_during_bring_up_ends_it() -> None:
    """The board may have measured before, or not."""
    for tick in (52, 700):
        run = Run(4, BodyConfig(start_pose=START))
        for _ in range(tick):
            run.tick()
        SWITCHES["stall"].act(run.lock_step, 1)
        for _ in range(25):
            assert run.robot.stage != Stage.FAILED.value or run.sensors is None
            run.tick()
        assert run.robot.stage == Stage.FAILED.value


@pytest.mark.usefixtures("quick")
def test_an_index_bit_that_was_set_by_mistake_is_forgotten() -> None:
    """One wrong packet during the search does not decide the position of the index."""
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(600):
        run.tick()
    assert run.robot.stage == Stage.SEARCH.value
    drivers = run.board.body.drivers
    seen = drivers._seen
    drivers._seen = seen | (np.arange(12) == MOTOR_OF_JOINT[2])
    run.tick()
    assert not seen[MOTOR_OF_JOINT[2]]
    drivers._seen = seen
    run.bring_up()
    np.testing.assert_allclose(run.positions[-1], run.truth, atol=0.002)


def test_a_stall_of_the_pc_during_bring_up_ends_it() -> None:
    """The vendor's calibration hangs for ever here."""
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(700):
        run.tick()
    for _ in range(40):
        run.board.tick()
    for _ in range(5):
        run.tick()
    assert run.sensors is not None
    assert any("no longer ready" in fault for fault in run.sensors.faults)


def test_joints_are_not_held_while_their_coordinates_change() -> None:
    """A position target would be wrong by the distance from power-up to index.

    Legs are damped, hips still held.
    """
    run = Run(4, BodyConfig(start_pose=START))
    while run.robot.stage != Stage.SETTLE.value:
        run.tick()
    while run.robot.stage == Stage.SETTLE.value:
        command = run.robot._bring_up._command()  # type: ignore[union-attr]
        legs = ~np.isin(np.arange(12), MOTOR_OF_JOINT[::3])
        assert not command.kp[legs].any()
        np.testing.assert_allclose(command.kd[legs] * GAIN_PER_AMPERE, DAMPING_GAIN)
        assert (command.kd > 0).all()
        assert (command.kp[~legs] > 0).all()
        run.tick()
    assert run.robot.stage == Stage.FOLD.value


@pytest.mark.parametrize("ticks", [0, 30])
def test_a_stop_before_the_board_has_answered_is_not_forgotten(ticks: int) -> None:
    """Otherwise legs would move after a stop by the operator.

    Bring-up never begins, and the reason is reported.
    """
    run = Run(4, BodyConfig(start_pose=START))
    for _ in range(ticks):
        run.tick()
    run.robot.stop()
    run.robot.stop("another cause, too late")
    for _ in range(2):
        with pytest.raises(RobotError, match=r"stopped by the operator\. Nothing has moved"):
            run.bring_up(200)
    assert run.stages in ([], ["waiting for the master board"])
    assert not run.board.body.drivers.reading()["enabled"].any()


def test_a_missing_driver_is_named() -> None:
    """The error comes before any motion."""
    run = Run(4, BodyConfig())
    SWITCHES["dead-driver"].act(run.lock_step, 3)
    with pytest.raises(BoardError, match="number 3 did not answer"):
        run.bring_up(200)


def test_another_robots_calibration_is_refused() -> None:
    """The board's address differs."""
    run = Run(4, BodyConfig(), replace(CALIBRATION, board="02:00:00:00:00:99"))
    with pytest.raises(CalibrationError, match="02:00:00:00:00:99"):
        run.bring_up(200)


def test_a_missing_board_is_reported_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both protocols are tried."""
    monkeypatch.setattr("deploy.robots.odri.drivers.board_session.CONNECT_LIMIT", 500)
    run = Run(4, BodyConfig())
    SWITCHES["drop"].act(run.lock_step, 1.0)
    run.board.stalled = True
    with pytest.raises(BoardError, match="protocols 4 and 3"):
        run.bring_up(3000)


def test_a_future_protocol_is_named() -> None:
    """Firmware 5 answers with its version."""
    run = Run(4, BodyConfig())
    run.board.protocol = 5
    with pytest.raises(BoardError, match="speaks protocol 5"):
        run.bring_up(10)


def test_a_session_number_is_never_zero() -> None:
    """A board without a session sends zero."""
    run = Run(4, BodyConfig())
    assert NativeBoard(MemoryLink(run.lock_step))._session != 0
