"""The virtual board behaves like the firmware.

Covers sessions, states, watchdogs, errors, and faults of cable and parts.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, SIGN, joint_position, joint_velocity
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.protocol import Ack, Init, Malformed, SensorPacket
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.fault_switches import (
    SWITCHES,
    FaultEvent,
    FaultSchedule,
    KilledError,
)
from deploy.robots.virtual_board.master_board import BoardState, MasterBoard
from deploy.robots.virtual_board.motor_drivers import ALIGNMENT_TICKS
from solo_doi.common.errors import SoloError
from tests.deploy.robots.odri.robots import Session, joint_command

OFF, ON = joint_command(on=False), joint_command(kd=0.1)


@pytest.fixture
def session() -> Session:
    """Return a session that has just been acknowledged."""
    return Session()


def sensor_of(payload: bytes | None, protocol: int = 4) -> SensorPacket:
    """Decode a sensor packet."""
    assert payload is not None
    packet = codec.decode_sensor(payload, protocol)
    assert not isinstance(packet, Malformed)
    return packet


@pytest.mark.parametrize("protocol", [3, 4])
def test_a_session_opens(protocol: int) -> None:
    """The board is silent until init, then searches for drivers for 50 ticks, with measurements.

    Acknowledgements follow.
    """
    board = MasterBoard(Body(BodyConfig()), protocol)
    assert [board.tick() for _ in range(3)] == [None] * 3
    assert board.receive(codec.encode_init(Init(protocol, 9))) is None
    sizes = [len(board.tick() or b"") for _ in range(53)]
    assert sizes == [p.SENSORS[protocol].itemsize] * 51 + [p.ACKS[protocol].itemsize] * 2
    assert codec.decode_ack(board.tick() or b"") == Ack(protocol, 9, p.ALL_DRIVERS)


def test_a_wrong_version_is_answered_by_version_4_and_ignored_by_version_3() -> None:
    """No session is opened."""
    four, three = (MasterBoard(Body(BodyConfig()), protocol) for protocol in (4, 3))
    assert codec.decode_ack(four.receive(codec.encode_init(Init(3, 9))) or b"") == Ack(
        4, 9, p.ALL_DRIVERS
    )
    assert three.receive(codec.encode_init(Init(4, 9))) is None
    for board in (four, three):
        board.tick()
        assert board.state is BoardState.WAITING_FOR_INIT


def test_an_acknowledged_session_expires_without_commands() -> None:
    """After a second the board is in error; it measures, but ignores commands until an init."""
    session = Session()
    session.idle(1000)
    assert session.board.state is BoardState.SENDING_ACK
    session.idle(5)
    assert session.board.state is BoardState.ERROR


def test_measurements_start_with_the_first_command(session: Session) -> None:
    """They contain the session, count from one, and confirm the command."""
    packet = session.run(1, OFF)
    assert packet is not None
    assert (packet.session, packet.index, packet.last_command, packet.commands_lost) == (
        77,
        1,
        0,
        0,
    )
    assert session.run(3, OFF).index == 4  # type: ignore[union-attr]
    assert session.driver.command_lag == 0


def test_commands_of_another_session_are_ignored(session: Session) -> None:
    """They neither confirm nor reset the watchdog."""
    session.run(5, OFF)
    foreign = codec.encode_command(ON, 78, 5, 4)
    for _ in range(25):
        session.board.receive(foreign)
        session.board.tick()
    assert session.board.state is BoardState.ERROR


def test_a_second_pc_cannot_take_a_live_robot(session: Session) -> None:
    """Init is accepted only while waiting or in error."""
    session.run(5, OFF)
    session.board.receive(codec.encode_init(Init(4, 1234)))
    assert session.run(5, OFF).session == 77  # type: ignore[union-attr]
    assert session.board.state is BoardState.ACTIVE


def test_lost_commands_are_counted(session: Session) -> None:
    """The total grows by the gap in indices."""
    session.run(2, OFF)
    session.board.receive(codec.encode_command(OFF, 77, 6, 4))  # 2 to 5 were lost
    packet = sensor_of(session.board.tick())
    assert (packet.commands_lost, packet.last_command) == (4, 6)


def test_motors_align_before_they_are_ready(session: Session) -> None:
    """They are enabled at once and ready after alignment, which moves the rotors."""
    start = session.board.body.plant.joint_position
    packet = session.run(ALIGNMENT_TICKS, ON)
    assert packet is not None
    assert packet.enabled.all()
    assert not packet.ready.any()
    assert session.run(1, ON).ready.all()  # type: ignore[union-attr]
    assert np.abs(session.board.body.plant.joint_position - start).max() > 0.0


def test_the_silent_disarm(session: Session) -> None:
    """A PC that stalls for 40 ms still gets measurements.

    The motors are off, and the lag grows without end.
    """
    assert session.run(ALIGNMENT_TICKS + 1, ON).ready.all()  # type: ignore[union-attr]
    session.idle(15)
    assert session.board.state is BoardState.ACTIVE
    session.idle(25)
    assert session.board.state is BoardState.ERROR
    packet = session.run(50, ON)
    assert packet is not None
    assert packet.session == 77
    assert not packet.enabled.any()
    assert not packet.ready.any()
    assert session.driver.command_lag == 50


def test_a_new_init_after_an_error_aligns_again() -> None:
    """The motors move again, so software must not do this automatically."""
    session = Session()
    session.run(ALIGNMENT_TICKS + 1, ON)
    session.idle(40)
    again = Session.__new__(Session)
    again.lock_step, again.board = session.lock_step, session.board
    again.driver = type(session.driver)(session.driver._link, 99)
    while not again.driver.connect():
        pass
    packet = again.run(2, ON)
    assert packet is not None
    assert packet.session == 99
    assert packet.enabled.all()
    assert not packet.ready.any()


def test_a_power_cycled_board_does_not_move_under_a_running_controller(session: Session) -> None:
    """The board waits for init and sends no packet, for any command."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    SWITCHES["power-cycle"].act(session.lock_step, 1)
    assert session.run(100, joint_command(position=0.5, kp=3.0, kd=0.1)) is None
    assert session.board.state is BoardState.WAITING_FOR_INIT
    assert not session.board.body.drivers.reading()["enabled"].any()


def test_a_hanging_board_makes_its_drivers_time_out(session: Session) -> None:
    """After 5 ms without a packet from the board, the drivers switch off with an error."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    SWITCHES["stall"].act(session.lock_step, 1)
    assert session.run(5, ON) is None
    assert session.board.body.drivers.reading()["enabled"].all()
    session.run(1, ON)
    assert not session.board.body.drivers.reading()["enabled"].any()
    SWITCHES["stall"].act(session.lock_step, 0)
    packet = session.run(1, ON)
    assert packet is not None
    assert (packet.error == p.ERROR_TIMEOUT).all()


def test_a_pulled_cable_ends_the_session(session: Session) -> None:
    """No packet is sent without the cable; afterwards the board needs a new session."""
    session.run(5, ON)
    SWITCHES["link-down"].act(session.lock_step, 1)
    session.idle(1)
    assert session.run(3, ON) is None
    SWITCHES["link-down"].act(session.lock_step, 0)
    session.idle(1)
    assert session.board.state is BoardState.ERROR


def test_a_dead_driver_is_missing_or_has_an_empty_record() -> None:
    """Its bit is zero in the acknowledgement.

    If it dies later its record is zero, with error 15.
    """
    session = Session()
    session.run(ALIGNMENT_TICKS + 1, ON)
    SWITCHES["dead-driver"].act(session.lock_step, 2)
    packet = session.run(1, ON)
    assert packet is not None
    assert packet.error.tolist() == [0, 0, p.ERROR_NO_ANSWER, 0, 0, 0]
    assert packet.ready.tolist() == [True] * 4 + [False] * 2 + [True] * 6
    late = MasterBoard(session.board.body, 4)
    late.receive(codec.encode_init(Init(4, 9)))
    for _ in range(52):
        payload = late.tick()
    assert codec.decode_ack(payload or b"") == Ack(4, 9, 0b111011)


def test_a_broken_encoder_switches_its_driver_off(session: Session) -> None:
    """Motor 7 is the second of driver 3, which has error 6 and both motors off."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    SWITCHES["encoder-error"].act(session.lock_step, 7)
    packet = session.run(1, ON)
    assert packet is not None
    assert packet.error.tolist() == [0, 0, 0, 6, 0, 0]
    assert not packet.enabled[6:8].any()
    assert packet.enabled.sum() == 10


def test_a_dead_imu_repeats_itself(session: Session) -> None:
    """The only sign in the packets is that values no longer change."""
    before, now = session.run(1, OFF), session.run(1, OFF)
    assert (before.imu.gyroscope != now.imu.gyroscope).any()  # type: ignore[union-attr]
    SWITCHES["imu-freeze"].act(session.lock_step, 1)
    later = session.run(10, OFF)
    np.testing.assert_array_equal(later.imu.gyroscope, now.imu.gyroscope)  # type: ignore[union-attr]
    np.testing.assert_array_equal(later.imu.acceleration, now.imu.acceleration)  # type: ignore[union-attr]


def test_the_imu_measures_gravity_and_the_battery_is_reported(session: Session) -> None:
    """Gravity is measured upwards, with the errors of a cheap sensor.

    Protocol 4 has voltage, current and energy.
    """
    packets = [session.run(1, OFF) for _ in range(200)]
    mean = np.mean([packet.imu.acceleration for packet in packets if packet], axis=0)
    np.testing.assert_allclose(mean, [0, 0, 9.81], atol=0.3)
    assert packets[-1].power.voltage == pytest.approx(24, abs=0.1)  # type: ignore[union-attr]
    SWITCHES["battery"].act(session.lock_step, 17)
    power = session.run(2, OFF).power  # type: ignore[union-attr]
    assert power.voltage == pytest.approx(17, abs=0.1)
    assert power.current > 0
    assert power.energy > 0


def test_protocol_3_has_no_voltage() -> None:
    """The packet has no such field."""
    assert np.isnan(Session(protocol=3).run(1, OFF).power.voltage)  # type: ignore[union-attr]


def test_current_is_limited_by_the_saturation(session: Session) -> None:
    """A far target needs more than 11 A.

    The measured current is at the limit, in eighths of an ampere.
    """
    session.run(ALIGNMENT_TICKS + 1, ON)
    packet = session.run(1, joint_command(position=2.0, kp=5.0))
    assert packet is not None
    np.testing.assert_allclose(np.abs(packet.current), 11.0, atol=p.CURRENT_LSB)
    assert (
        joint_velocity(packet) > 0
    ).all()  # every joint turns forwards, for any sign of its motor


def test_the_index_pulse_comes_where_it_is(session: Session) -> None:
    """Every motor detects the pulse within a pitch; if commanded, it then counts from it."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    for target in np.linspace(0, 0.8, 400):
        packet = session.run(1, joint_command(position=target, kp=5.0, kd=0.1))
    assert packet is not None
    assert packet.index_seen.all()
    command = joint_command(position=0.8, kp=0.0, kd=0.3)
    counting = type(command)(**{**vars(command), "compensate_index": np.ones(12, dtype=bool)})
    session.run(1, counting)
    packet = session.run(1, counting)
    assert packet is not None
    truth = session.board.body.plant.joint_position
    index = truth - joint_position(packet, np.zeros(12))
    pitches = (index - session.body.index_angles) / (2 * np.pi / 9)
    np.testing.assert_allclose(pitches, np.rint(pitches), atol=1e-5)


def test_a_bad_cable_is_survived_by_the_driver(session: Session) -> None:
    """Lost packets are counted and duplicated ones refused.

    Packets never go back in time.
    """
    SWITCHES["drop"].act(session.lock_step, 0.2)
    SWITCHES["duplicate"].act(session.lock_step, 0.1)
    indices = []
    for _ in range(500):
        packet = session.run(1, OFF)
        if packet is not None:
            indices.append(packet.index)
    assert session.board.state is BoardState.ACTIVE
    assert (np.diff(indices) > 0).all()
    assert session.driver.lost == indices[-1] - indices[0] + 1 - len(indices)
    assert 50 < session.driver.lost < 160
    assert session.driver.rejected > 10


def test_delayed_packets_show_as_lag(session: Session) -> None:
    """Three packets each way are six commands."""
    SWITCHES["delay"].act(session.lock_step, 3)
    session.run(20, OFF)
    assert session.driver.command_lag == 6


def test_corrupt_packets_raise_no_exception(session: Session) -> None:
    """The protocol has no checksum above Ethernet's, so driver and board must handle any bytes."""
    SWITCHES["corrupt"].act(session.lock_step, 1.0)
    session.run(300, OFF)


def test_events_happen_at_their_tick(session: Session) -> None:
    """Each event happens once, in order of time."""
    start = session.board.ticks / 1000
    schedule = FaultSchedule(
        [FaultEvent.parse(f"kill@{start + 0.02}"), FaultEvent.parse(f"battery=18.5@{start + 0.01}")]
    )
    schedule.act(session.lock_step)
    assert session.board.body.battery == 24
    session.idle(10)
    schedule.act(session.lock_step)
    assert session.board.body.battery == 18.5
    session.idle(10)
    with pytest.raises(KilledError):
        schedule.act(session.lock_step)


@pytest.mark.parametrize(
    "text",
    ["dropp=0.2@5", "drop=0.2", "drop=x@5", "drop=2@5", "dead-driver=6@1", "drop=nan@1", "drop@-1"],
)
def test_bad_events_are_refused(text: str) -> None:
    """Such events are misspelt, without a time, or out of range."""
    with pytest.raises(SoloError, match=r"switch|event|expected"):
        FaultEvent.parse(text)


def test_motor_numbers_reach_the_right_joint(session: Session) -> None:
    """A current on one motor moves only its joint, in the direction of its sign."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    for joint in (0, 4, 8):
        session.run(200, joint_command(kd=0.4))  # stop the previous motion
        before = session.board.body.plant.joint_position
        current = np.zeros(12)
        current[MOTOR_OF_JOINT[joint]] = 2.0
        session.run(30, replace(joint_command(kd=0.0), current=current))
        moved = session.board.body.plant.joint_position - before
        assert np.argmax(np.abs(moved)) == joint
        assert np.sign(moved[joint]) == SIGN[joint]


def test_a_copy_goes_on_by_itself(session: Session) -> None:
    """The copy equals the original to the last bit until their inputs differ."""
    session.run(ALIGNMENT_TICKS + 1, ON)
    board, copy = session.board, deepcopy(session.board)
    assert [board.tick() for _ in range(5)] == [copy.tick() for _ in range(5)]
    before = board.body.plant.motion()
    copy.body.plant.push(np.array([0.0, 1.0, 0.0]))
    copy.tick()
    assert copy.body.plant.motion().base_position_w[1] != before.base_position_w[1]
    np.testing.assert_array_equal(board.body.plant.motion().base_position_w, before.base_position_w)


def test_a_robot_that_falls_touches_the_ground_with_more_than_its_feet(session: Session) -> None:
    """A hanging robot does not touch, nor one that stands on straight legs until it is pushed."""
    plant = session.board.body.plant
    plant.hold_joints(held=False)
    assert not plant.belly_on_ground()
    plant.lower()
    session.idle(2500)
    assert plant.crane.released
    assert not plant.belly_on_ground()
    plant.push(np.array([0.0, 1.0, 0.0]))
    session.idle(1000)
    assert plant.belly_on_ground()
