"""Calibration on a virtual board.

It is measured twice and compared; any failure damps the motors.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from deploy.common.robot_error import RobotError
from deploy.robots.odri.bench import calibrator
from deploy.robots.odri.bench.calibration_phase import PLACE_WORDS, SHOW_WORDS, Phase
from deploy.robots.odri.bench.calibrator import Calibrator
from deploy.robots.odri.bench.index_watch import IndexWatch
from deploy.robots.odri.bench.measurement_comparison import REPEATABLE, check_offsets, check_pose
from deploy.robots.odri.bench.stillness import Stillness
from deploy.robots.odri.bring_up import bring_up
from deploy.robots.odri.bring_up.calibration import PITCH, CalibrationError, nearest
from deploy.robots.odri.drivers.board import BoardError
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, SIGN
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.fault_switches import SWITCHES
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep, MemoryLink
from deploy.robots.virtual_board.simulated_person import PersonConfig
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.limits import GEAR_RATIO
from tests.deploy.robots.odri.packets import sensor

TODAY = date(2026, 3, 4)
INDICES = np.linspace(0.1, 0.2, 12)
"""Index angles near zero, which are found soon [rad]."""
FIRST, SECOND = np.random.default_rng(1).uniform(-0.01, 0.01, (2, 12))


class Bench:
    """A calibrator on its own board, with a simulated operator that confirms the questions."""

    def __init__(self, second: np.ndarray = SECOND) -> None:
        """Set up a hanging robot; the joint angles for the second measurement can be chosen."""
        body = BodyConfig(
            start_pose=FIRST, index_angles=INDICES, person=PersonConfig(puts_back=second)
        )
        self.lock_step = LockStep(MasterBoard(Body(body), 4))
        self.calibrator = Calibrator(NativeBoard(MemoryLink(self.lock_step), 5), lock_step=True)
        self.questions: list[str] = []
        self.enabled: list[bool] = []

    @property
    def drivers_enabled(self) -> bool:
        """True if any motor is on."""
        return self.lock_step.board.body.drivers.any_enabled

    def run(self, ticks: int = 40_000, until: Phase | None = None) -> None:
        """Advance to the end, to a phase, or by a number of ticks."""
        for _ in range(ticks):
            if self.calibrator.is_over or self.calibrator.phase is until:
                return
            if self.calibrator.question:
                self.questions.append(self.calibrator.question)
                self.calibrator.confirm()
            self.calibrator.step()
            self.enabled.append(self.drivers_enabled)


@pytest.fixture(scope="module")
def done() -> Bench:
    """Return a bench after a whole calibration, with the legs folding in half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bring_up, "FOLD_TIME", 0.5)
        patch.setattr(calibrator, "RELAX_TIME", 0.2)
        bench = Bench()
        bench.run()
    return bench


def test_offsets_are_this_robots(done: Bench) -> None:
    """The result is the mean of two measurements, as exact as the zero pose."""
    assert done.calibrator.failure == ""
    result = done.calibrator.result(TODAY)
    np.testing.assert_allclose(nearest(result.offset - INDICES), -(FIRST + SECOND) / 2, atol=0.002)
    assert (result.board, result.measured) == (CALIBRATION.board, TODAY)
    assert result.measured_with == "native, protocol 4"


def test_a_person_is_asked_before_every_movement(done: Bench) -> None:
    """The questions are: joints at zero, legs equal, joints at zero again.

    The motors are off at the end.
    """
    assert done.questions == [PLACE_WORDS[0], SHOW_WORDS, PLACE_WORDS[1]]
    changes = np.flatnonzero(np.diff(np.array(done.enabled).astype(int)))
    assert len(changes) == 4  # on and off, twice
    assert not done.drivers_enabled


def test_thighs_and_shanks_pass_more_than_one_index(done: Bench) -> None:
    """Every index agrees with the first one, as an independent measurement."""
    status = done.calibrator.status()
    legs = ["HAA" not in name for name in JOINT_NAMES]
    assert (np.array(status["passed"])[legs] >= 1).all()
    np.testing.assert_allclose(status["difference"], FIRST - SECOND, atol=0.004)
    assert status["stage"] == ["motor off"] * 12


def test_a_wrong_index_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thigh is put one turn of its motor away for the second measurement.

    Offsets would be the same, but angles would be wrong by 40 degrees.
    """
    monkeypatch.setattr(bring_up, "FOLD_TIME", 0.3)
    monkeypatch.setattr(calibrator, "RELAX_TIME", 0.2)
    bench = Bench(SECOND + PITCH * (np.arange(12) == 4))
    bench.run()
    assert bench.calibrator.failure.startswith("FR_HFE was put +0.6")
    assert "1 whole turn(s) of its motor: that would be the wrong index" in bench.calibrator.failure
    assert bench.questions[-1] == PLACE_WORDS[1]
    assert not bench.drivers_enabled  # it was found before any further motion
    with pytest.raises(CalibrationError, match="nothing to store"):
        bench.calibrator.result(TODAY)


@pytest.mark.parametrize("phase", [Phase.CONNECT, Phase.PLACE])
def test_a_stop_before_motors_are_on_leaves_them_off(phase: Phase) -> None:
    """This includes a stop during the search for the board."""
    bench = Bench()
    bench.run(until=phase)
    bench.run(10)
    bench.calibrator.stop()
    for _ in range(100):  # it does not start again
        bench.calibrator.step()
        assert bench.calibrator.is_over
        assert not bench.drivers_enabled
    assert bench.calibrator.failure == "stopped"


def test_a_stop_damps_motors_that_are_on() -> None:
    """The motors are damped until the legs are down; no calibration is stored."""
    bench = Bench()
    bench.run(until=Phase.MEASURE)
    bench.run(600)
    bench.calibrator.stop()
    bench.run(500)
    assert not bench.calibrator.is_over
    command = bench.lock_step.board._command
    assert command is not None
    assert command.motors.enabled.all()
    assert not command.motors.kp.any()
    assert (command.motors.kd > 0).all()
    bench.run()
    assert len(bench.enabled) < 3500
    with pytest.raises(CalibrationError, match="nothing to store: stopped"):
        bench.calibrator.result(TODAY)


def test_motors_that_were_not_on_yet_are_not_switched_on_by_a_failure() -> None:
    """The operator has agreed, and the pose is being read.

    Switching motors on only to damp them would move them.
    """
    bench = Bench()
    bench.run(until=Phase.MEASURE)
    bench.run(20)
    SWITCHES["encoder-error"].act(bench.lock_step, 7)
    bench.run(100)
    assert bench.calibrator.phase is Phase.FAILED
    assert bench.calibrator.is_over
    assert not any(bench.enabled)


def test_a_stop_while_rotors_are_aligned_switches_them_off() -> None:
    """Aligning drivers move the rotors for any command; only switching them off ends that."""
    bench = Bench()
    bench.run(until=Phase.MEASURE)
    bench.run(200)
    assert bench.drivers_enabled
    bench.calibrator.stop()
    bench.calibrator.step()
    assert bench.calibrator.is_over
    assert not bench.drivers_enabled


def test_a_confirmation_is_valid_for_joints_that_come_to_rest_soon() -> None:
    """A second confirmation has no effect; the question is repeated if joints keep moving."""
    bench = Bench()
    while not bench.calibrator.question:
        bench.calibrator.step()
    bench.calibrator.confirm()
    bench.calibrator.confirm()
    assert bench.calibrator.question == ""
    plant = bench.lock_step.board.body.plant
    for tick in range(2100):
        plant.put_joints(FIRST + 0.05 * (tick % 400 < 200))
        bench.calibrator.step()
    assert bench.calibrator.question == PLACE_WORDS[0]
    assert not bench.drivers_enabled


@pytest.mark.parametrize(
    ("switch", "value", "ticks", "cause"),
    [
        ("encoder-error", 7, 100, "driver 3 (HL_HAA, HR_HAA): encoder 2 error"),
        ("dead-driver", 0, 1100, "driver 0 (FL_HAA, FR_HAA): no answer to the board"),
        ("stall", 1, 100, "no measurements for"),
        ("stall", 1, 1100, "no measurements for"),
        ("power-cycle", 1, 100, "no measurements for"),
        ("imu-freeze", 1, 1100, "the IMU shows the same numbers for 21 ms"),
        ("battery", 19, 1100, "the battery gives 1"),
    ],
)
def test_faults_are_named_and_end_it(switch: str, value: float, ticks: int, cause: str) -> None:
    """The faults occur while joints are put to zero, and during the search."""
    bench = Bench()
    bench.run(ticks)
    SWITCHES[switch].act(bench.lock_step, value)
    bench.run(25)
    assert bench.calibrator.phase is Phase.FAILED
    assert cause in bench.calibrator.failure
    with pytest.raises(CalibrationError, match="nothing to store"):
        bench.calibrator.result(TODAY)


def test_a_leg_that_is_pushed_away_while_legs_are_shown_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hands may be near while the legs are shown; holding joints are checked like moving ones."""
    monkeypatch.setattr(bring_up, "FOLD_TIME", 0.3)
    bench = Bench()
    bench.run(until=Phase.SHOW)
    plant = bench.lock_step.board.body.plant
    folded = plant.joint_position.copy()
    for away, ticks in ((0.4, 20), (0.7, 3)):
        assert bench.calibrator.phase is Phase.SHOW
        for _ in range(ticks):
            plant.put_joints(folded + away * (np.arange(12) == 4))
            bench.calibrator.step()
    assert bench.calibrator.phase is Phase.FAILED
    assert bench.calibrator.failure.startswith("FR_HFE is 0.")
    assert "behind its target: is it blocked?" in bench.calibrator.failure
    command = bench.lock_step.board._command
    assert command is not None
    assert not command.motors.kp.any()


def test_a_driver_that_never_answered_is_named_before_anything_moves() -> None:
    """The check is the same as at bring-up."""
    bench = Bench()
    SWITCHES["dead-driver"].act(bench.lock_step, 3)
    with pytest.raises(BoardError, match="number 3 did not answer"):
        bench.run(200)


def test_joints_must_rest_before_they_move() -> None:
    """The joints must rest for half a second, even after an early confirmation."""
    still = Stillness()
    moving = [still.rests(np.full(12, 0.02 * tick)) for tick in range(1000)]
    assert not any(moving)
    resting = [still.rests(np.full(12, 20.0)) for _ in range(501)]
    assert resting[-1]
    assert not any(resting[:-1])


@pytest.mark.parametrize(
    ("away", "words"), [(PITCH, "1 whole turn"), (-2 * PITCH, "2 whole turn"), (0.06, "+0.060 rad")]
)
def test_another_zero_pose_is_refused(away: float, words: str) -> None:
    """The message distinguishes whole turns of the motor from a badly placed joint."""
    first, second = np.linspace(-1, 1, 12), np.linspace(-1, 1, 12)
    check_pose(second + REPEATABLE - 0.001, [first])
    second[8] += away
    with pytest.raises(CalibrationError, match="HL_KFE was put") as error:
        check_pose(second, [first])
    assert words in str(error.value)
    assert ("wrong index" in str(error.value)) == (abs(away) > 0.1)


@pytest.mark.parametrize("away", [0.06, -0.3, np.nan])
def test_an_index_that_is_elsewhere_the_second_time_is_refused(away: float) -> None:
    """An encoder disc may slip, or have no index; another index of the same disc is accepted."""
    first, second = np.linspace(-0.3, 0.3, 12), np.linspace(-0.3, 0.3, 12)
    second[3] += PITCH
    check_offsets([first, second])
    second[5] += away
    with pytest.raises(CalibrationError, match="FR_KFE has its index"):
        check_offsets([first, second])


def at(joint: int, angle: float, *, toggled: bool) -> RobotError | None:
    """Return the error for an index of a joint at an angle, relative to its first index."""
    position, toggle = np.zeros(12), np.zeros(12, dtype=bool)
    position[MOTOR_OF_JOINT[joint]] = SIGN[joint] * GEAR_RATIO * angle
    toggle[MOTOR_OF_JOINT[joint]] = toggled
    watch, counting = IndexWatch(), np.ones(12, dtype=bool)
    watch.check(sensor(), counting)
    try:
        watch.check(replace(sensor(), position=position, index_toggle=toggle), counting)
    except RobotError as error:
        return error
    assert watch.passed[joint] == toggled
    return None


@pytest.mark.parametrize("angle", [0.0, PITCH, -3 * PITCH, 2 * PITCH + 0.01])
def test_index_pulses_come_at_whole_pitches(angle: float) -> None:
    assert at(4, angle, toggled=True) is None


def test_an_index_pulse_elsewhere_is_refused() -> None:
    """The error names the joint; angles without a pulse are not checked."""
    assert at(4, 0.2, toggled=False) is None
    error = at(4, PITCH + 0.2, toggled=True)
    assert error is not None
    assert "FR_HFE passed an index 0.20 rad from where one must be" in str(error)
