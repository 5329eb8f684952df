"""Preflight on a virtual board: motors stay off, and each injected fault is a no-go row."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from deploy.robots.odri.bench import hand_test, inspection, stillness
from deploy.robots.odri.bench.hand_test import HOW, HandTest
from deploy.robots.odri.bench.inspection import Inspection
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, SIGN
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire.protocol import BUS_CURRENT_LSB
from deploy.robots.virtual_board import simulated_person as person
from deploy.robots.virtual_board.body import IDLE_CURRENT, Body, BodyConfig, Wiring
from deploy.robots.virtual_board.fault_switches import SWITCHES
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep, MemoryLink
from deploy.robots.virtual_board.simulated_person import PersonConfig
from deploy.service.check_row import CheckRow, Verdict
from deploy.service.go_checks import judge
from deploy.service.live_tables import sensors
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.rotations import from_rpy
from tests.deploy.robots.odri.packets import sensor

CONTRACT = Bundle(SHIPPED).contract
HANDS = {"joint order", "joint signs", "IMU nose up"}
NO_CLOCK = {"packet rate", "jitter"}


def looked(
    body: BodyConfig,
    faults: dict[str, float] | None = None,
    *,
    after: int = 40,
    protocol: int = 4,
    hands: bool = False,
) -> Inspection:
    """Inspect a robot for a while, and check that no motor was ever on."""
    lock_step = LockStep(MasterBoard(Body(body), protocol))
    test = HandTest() if hands else None
    look = Inspection(
        NativeBoard(MemoryLink(lock_step), 5), seconds=0.2, lock_step=True, hand_test=test
    )
    for tick in range(20_000):
        if look.is_over:
            break
        if tick == after:
            for name, value in (faults or {}).items():
                SWITCHES[name].act(lock_step, value)
        look.step()
        assert not lock_step.board.body.drivers.any_enabled
    assert look.is_over
    return look


def inspect(*what: Any, **how: Any) -> dict[str, Any]:
    """Inspect a robot like `looked`; return the result."""
    return looked(*what, **how).result()


def shown(look: Inspection) -> str:
    """Return the displayed text."""
    console = Console(width=200, file=StringIO())
    console.print(sensors(look.status()))
    return console.file.getvalue()


def rows_of(seen: dict[str, Any]) -> dict[str, CheckRow]:
    """Return rows by name."""
    return {row.name: row for row in judge(seen, CONTRACT, simulated_time=True)}


def named(rows: dict[str, CheckRow], verdict: Verdict) -> set[str]:
    """Return the names of rows with a verdict."""
    return {name for name, row in rows.items() if row.verdict is verdict}


def wrong(rows: dict[str, CheckRow]) -> set[str]:
    """Return the names of no-go rows; each must have advice."""
    bad = named(rows, Verdict.NO_GO)
    assert all(rows[name].advice for name in bad)
    return bad


@pytest.mark.parametrize("protocol", [3, 4])
def test_a_good_robot_goes(protocol: int) -> None:
    """Values that are not checked or not applicable are marked.

    These are the time in lock-step, and the battery in protocol 3.
    """
    rows = rows_of(inspect(BodyConfig(), protocol=protocol))
    assert wrong(rows) == set()
    assert named(rows, Verdict.NOT_CHECKED) == HANDS
    assert named(rows, Verdict.NOT_APPLICABLE) == NO_CLOCK | (
        {"battery"} if protocol == 3 else set()
    )
    assert {
        "protocol",
        "motor drivers",
        "limits",
        "encoders at rest",
        "IMU at rest",
        "IMU level",
    } <= set(rows)


@pytest.mark.parametrize("protocol", [3, 4])
def test_the_battery_is_shown_with_its_current(protocol: int) -> None:
    """With the motors off, protocol 4 reports the current of the electronics."""
    look = looked(BodyConfig(), protocol=protocol)
    if protocol == 3:
        assert "not reported by protocol 3" in shown(look)
        return
    assert look.result()["current"] == pytest.approx(IDLE_CURRENT, abs=BUS_CURRENT_LSB)
    told = rows_of(look.result())["battery"].value
    assert told.endswith(f" V, {IDLE_CURRENT:.2f} A")
    assert told in shown(look)


@pytest.mark.parametrize(
    ("faults", "row", "words"),
    [
        ({"dead-driver": 2}, "motor drivers", "driver 2 (FR_HFE, FR_KFE) did not answer"),
        ({"encoder-error": 7}, "motor drivers", "driver 3 (HL_HAA, HR_HAA): encoder 2 error"),
        ({"battery": 21.0}, "battery", "Charge"),
        ({"drop": 0.05}, "measurements lost", "cable"),
        ({"drop": 0.05}, "commands lost", "cable"),
        ({"imu-freeze": 1}, "IMU at rest", "same numbers"),
    ],
)
def test_faults_are_no_go(faults: dict[str, float], row: str, words: str) -> None:
    """Each row has its name and advice."""
    rows = rows_of(inspect(BodyConfig(), faults))
    assert row in wrong(rows)
    assert words in rows[row].advice


def test_frames_that_were_refused_are_shown() -> None:
    """Corrupt and duplicated frames are counted.

    A good cable has none. Drivers without such a counter have no line.
    """
    assert "refused" not in shown(looked(BodyConfig()))
    look = looked(BodyConfig(), {"duplicate": 0.5})
    words = f", {look.result()['rejected']} refused"
    assert look.result()["rejected"] > 50
    assert words in shown(look)
    assert words in rows_of(look.result())["measurements"].value
    assert "refused" not in rows_of(look.result() | {"rejected": None})["measurements"].value


def test_a_driver_that_dies_while_it_is_looked_at_is_named() -> None:
    """The driver answered the board's first query, so only its error shows the failure."""
    rows = rows_of(inspect(BodyConfig(), {"dead-driver": 2}) | {"drivers": 0x3F})
    assert "driver 2 (FR_HFE, FR_KFE): no answer" in rows["motor drivers"].advice


@pytest.mark.parametrize("turn", [(np.pi, 0.0, 0.0), (0.0, np.pi / 2, 0.0), (0.0, np.pi, 0.0)])
def test_an_imu_that_is_not_upright_is_no_go(turn: tuple[float, float, float]) -> None:
    """It is upside down about either axis, or on its side."""
    rows = rows_of(inspect(BodyConfig(imu_mounting=from_rpy(*turn))))
    assert wrong(rows) == {"IMU level"}
    assert "upside down" in rows["IMU level"].advice


def test_a_board_that_falls_silent_is_no_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The silence, at once or later, gives a row instead of an exception."""
    monkeypatch.setattr(inspection, "INSPECTION_SILENCE", 0.1)
    for after in (60, 150):
        rows = rows_of(inspect(BodyConfig(), {"stall": 1}, after=after))
        assert "measurements" in wrong(rows)
        assert "sent nothing" in rows["measurements"].advice


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let simulated hands be faster than a person's."""
    monkeypatch.setattr(stillness, "STILL_SECONDS", 0.05)
    monkeypatch.setattr(person, "TURN_TIME", 0.05)
    monkeypatch.setattr(person, "JOINT_PAUSE", 0.08)
    monkeypatch.setattr(person, "NOSE_TIME", 0.3)


@pytest.mark.usefixtures("quick")
def test_joints_and_nose_that_move_as_requested_go() -> None:
    """All twelve joints turn in their positive direction, and the nose is lifted."""
    rows = rows_of(inspect(BodyConfig(person=PersonConfig(turns_after=0.5)), hands=True))
    assert wrong(rows) == set()
    assert rows["joint order"].value == "12 of 12 as named"
    assert {rows[name].verdict for name in HANDS} == {Verdict.GO}


@pytest.mark.usefixtures("quick")
def test_motors_in_the_wrong_place_and_an_imu_turned_around_are_no_go() -> None:
    """Two motors are swapped, one has the wrong sign, and the IMU faces backwards.

    Each has a row.
    """
    motor, sign = MOTOR_OF_JOINT.copy(), SIGN.copy()
    motor[[1, 2]], sign[5] = motor[[2, 1]], -sign[5]
    body = BodyConfig(
        person=PersonConfig(turns_after=0.5),
        wiring=Wiring(motor_of_joint=motor, sign=sign),
        imu_mounting=from_rpy(0.0, 0.0, np.pi),
    )
    rows = rows_of(inspect(body, hands=True))
    assert wrong(rows) == HANDS
    assert rows["joint order"].value == "10 of 12 as named"
    assert (
        "FL_HFE was requested, FL_KFE moved; FL_KFE was requested, FL_HFE moved"
        in rows["joint order"].advice
    )
    assert rows["joint signs"].advice.startswith("FR_KFE turned the other way")


def test_instructions_describe_the_positive_direction() -> None:
    """Feet move in the described direction, by the legs' kinematics."""
    places = {"to the robot's left": (1, 1.0), "backwards": (0, -1.0)}
    for joint, name in enumerate(JOINT_NAMES):
        turned = np.zeros(12)
        turned[joint] = 0.2
        moved = (foot_positions(turned) - foot_positions(np.zeros(12)))[joint // 3]
        words = HOW[name[-3:]]
        axis, side = next(place for text, place in places.items() if text in words)
        assert moved[axis] * side > 0.02, f"{name}: {words}"


def test_the_wait_for_a_joint_has_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rows then report that no joint moved."""
    monkeypatch.setattr(stillness, "STILL_SECONDS", 0.05)
    monkeypatch.setattr(hand_test, "QUESTION_SECONDS", 0.1)
    test = HandTest()
    for _ in range(14 * 200):
        test.step(sensor())
    assert test.is_over
    assert test.result() == {"answers": [[joint, None, 0.0] for joint in range(12)], "nose": None}
    rows = rows_of(inspect(BodyConfig()) | {"hands": test.result()})
    assert wrong(rows) == HANDS
    assert "FL_HAA was requested, nothing moved" in rows["joint order"].advice
