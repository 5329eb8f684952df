"""Encoding and decoding of packets, within the resolution of the protocol.

Values outside the range of the protocol are refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deploy.common.robot_error import RobotError
from deploy.robots.odri.drivers import motors
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.ethernet import PC_MAC, Frame, pack_frame, unpack_frame
from deploy.robots.odri.wire.protocol import Ack, CommandPacket, Init, Malformed, SensorPacket
from solo_doi.solo12.limits import TORQUE_PER_AMPERE
from tests.deploy.robots.odri.packets import (
    COMMAND_LSB,
    IMU_LSB,
    command,
    commands,
    sensor,
    sensors,
    words,
)

PROTOCOLS = sorted(p.PROTOCOLS)
both = pytest.mark.parametrize("protocol", PROTOCOLS)
SINGLE = np.float64(np.finfo(np.float32).eps)


def test_sizes_are_those_of_the_firmware() -> None:
    """Init 4, ack 3 or 5, command 172, sensors 200 or 208 bytes."""
    assert (p.INIT.itemsize, p.COMMAND_PACKET.itemsize) == (4, 172)
    assert [p.ACKS[protocol].itemsize for protocol in PROTOCOLS] == [3, 5]
    assert [p.SENSORS[protocol].itemsize for protocol in PROTOCOLS] == [200, 208]


@both
def test_every_field_is_at_its_documented_offset(protocol: int) -> None:
    """The offsets come from the description of the protocol, not from the layout in the code."""
    payload = codec.encode_command(
        command(position=np.arange(12.0) / 10), session=0x1234, index=0xABCD, protocol=protocol
    )
    assert payload[:2] == b"\x34\x12"
    assert payload[170:] == b"\xcd\xab"
    for driver in range(6):
        start = 2 + 28 * driver
        assert int.from_bytes(payload[start : start + 2], "little") == 0xF005
        for side in range(2):
            counts = int.from_bytes(
                payload[start + 2 + 4 * side : start + 6 + 4 * side], "little", signed=True
            )
            assert counts == int((2 * driver + side) / 10 / (2 * np.pi) * 2**24)
            assert payload[start + 26 + side] == 12 * 8


@both
@settings(max_examples=100, deadline=None)
@given(data=st.data(), session=words, index=words)
def test_commands_survive_within_one_unit(
    protocol: int, data: st.DataObject, session: int, index: int
) -> None:
    """Values are truncated towards zero, never rounded up.

    An encoded gain is never larger than the requested one.
    """
    sent = data.draw(commands(protocol))
    back = codec.decode_command(codec.encode_command(sent, session, index, protocol))
    assert isinstance(back, CommandPacket)
    assert (back.session, back.index) == (session, index)
    assert back.system_on.all()
    assert (back.timeout_ms == p.DRIVER_TIMEOUT_MS).all()
    np.testing.assert_array_equal(back.motors.enabled, sent.enabled)
    np.testing.assert_array_equal(back.motors.compensate_index, sent.compensate_index)
    for name, lsb in COMMAND_LSB.items():
        asked, got = getattr(sent, name), getattr(back.motors, name)
        slack = 1e-9 * np.abs(asked)
        assert (np.abs(got) <= np.abs(asked) + slack).all(), name
        assert (np.abs(got - asked) < lsb + slack).all(), name


@both
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_counts_are_the_vendor_s_to_the_last_bit(protocol: int, data: st.DataObject) -> None:
    """All fields are computed at once, but rounded in the vendor's order of operations."""
    sent = data.draw(commands(protocol))
    drivers = np.frombuffer(codec.encode_command(sent, 1, 1, protocol), p.COMMAND_PACKET)[0][
        "drivers"
    ]
    for name, counts in (
        ("position", sent.position / (2.0 * np.pi) * 2**24),
        ("velocity", sent.velocity * 60.0 / (2.0 * np.pi * 1000.0) * 2**11),
        ("current", sent.current * 2**10),
        ("kp", 2.0 * np.pi * sent.kp * 2**11),
        ("kd", (2.0 * np.pi * 1000.0) / 60.0 * sent.kd * 2**10),
        ("saturation", sent.saturation * 2**3),
    ):
        np.testing.assert_array_equal(drivers[name].ravel(), np.trunc(counts), err_msg=name)


@both
def test_cached_flags_cannot_be_changed(protocol: int) -> None:
    """Flags are cached for the next packet with the same ones."""
    payload = codec.encode_sensor(sensor(), protocol)
    packet = codec.decode_sensor(payload, protocol)
    assert isinstance(packet, SensorPacket)
    for name in ("system_on", "error", "enabled", "ready", "index_seen", "index_toggle"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(packet, name)[0] = 1


@both
@settings(max_examples=100, deadline=None)
@given(measured=sensors())
def test_measurements_survive_within_half_a_unit(protocol: int, measured: SensorPacket) -> None:
    """Encoding and decoding twice gives the same result as once."""
    payload = codec.encode_sensor(measured, protocol)
    back = codec.decode_sensor(payload, protocol)
    assert isinstance(back, SensorPacket)
    for name in ("session", "index", "commands_lost", "last_command"):
        assert getattr(back, name) == getattr(measured, name)
    for name in ("system_on", "error", "enabled", "ready", "index_seen", "index_toggle"):
        np.testing.assert_array_equal(getattr(back, name), getattr(measured, name))
    for name in ("position", "velocity", "current"):
        np.testing.assert_allclose(
            getattr(back, name), getattr(measured, name), atol=COMMAND_LSB[name] * 0.5001
        )
    for name, lsb in IMU_LSB.items():
        np.testing.assert_allclose(
            getattr(back.imu, name), getattr(measured.imu, name), atol=lsb * 1e-6
        )
    if protocol == 3:
        assert np.isnan([back.power.voltage, back.power.current, back.power.energy]).all()
        return
    assert back.power.voltage == pytest.approx(measured.power.voltage, abs=p.VOLTAGE_LSB * 0.5001)
    assert back.power.current == pytest.approx(
        measured.power.current, abs=p.BUS_CURRENT_LSB * 0.5001
    )
    assert back.power.energy == pytest.approx(measured.power.energy, rel=SINGLE, abs=1e-40)
    assert codec.encode_sensor(back, protocol) == payload


@given(protocol=words, session=words, drivers=st.integers(0, 255))
def test_sessions_survive(protocol: int, session: int, drivers: int) -> None:
    """An acknowledgement of version 4 contains the version.

    Version 3 is recognised by its length.
    """
    assert codec.decode_init(codec.encode_init(Init(protocol, session))) == Init(protocol, session)
    assert codec.decode_ack(codec.encode_ack(Ack(protocol, session, drivers), 4)) == Ack(
        protocol, session, drivers
    )
    assert codec.decode_ack(codec.encode_ack(Ack(3, session, drivers), 3)) == Ack(
        3, session, drivers
    )


@pytest.mark.parametrize(
    ("name", "lsb", "largest"),
    [
        ("position", 4.2e-8, 89.4),
        ("velocity", 5.7e-3, 186.0),
        ("current", 2.2e-4, 7.2),
        ("kp", 1.6e-4, (10.31, 5.157)),
        ("kd", 1.9e-5, (1.238, 0.619)),
        ("saturation", 0.125, (31.9, 15.9)),
    ],
)
def test_units_and_limits_at_the_joint(
    name: str, lsb: float, largest: float | tuple[float, float]
) -> None:
    """Units as measured on the vendor's packets: radians, newton metres and gains of a joint.

    The saturation is in amperes.
    """
    gear, ampere = motors.GEAR_RATIO, TORQUE_PER_AMPERE
    gain = motors.GAIN_PER_AMPERE
    scale = {
        "position": 1 / gear,
        "velocity": 1 / gear,
        "current": ampere,
        "kp": gain,
        "kd": gain,
        "saturation": 1.0,
    }
    assert COMMAND_LSB[name] * scale[name] == pytest.approx(lsb, rel=0.03)
    for protocol, limit in zip(PROTOCOLS, np.broadcast_to(largest, 2), strict=True):
        assert getattr(p.LIMITS[protocol], name) * scale[name] == pytest.approx(limit, rel=0.003)


@both
@pytest.mark.parametrize("name", COMMAND_LSB)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e9, -1e9])
def test_values_out_of_the_protocol_range_are_refused(
    protocol: int, name: str, value: float
) -> None:
    """The vendor's library sends a NaN position as the extreme one, and clamps gains silently."""
    with pytest.raises(RobotError, match=name):
        codec.encode_command(command(**{name: value}), 1, 1, protocol)


@both
@pytest.mark.parametrize("name", ["kp", "kd", "saturation"])
def test_limits_themselves_pass_and_a_unit_more_does_not(protocol: int, name: str) -> None:
    """The boundary is the range of the field."""
    limit = getattr(p.LIMITS[protocol], name)
    codec.encode_command(command(**{name: limit}), 1, 1, protocol)
    with pytest.raises(RobotError, match=name):
        codec.encode_command(command(**{name: limit + COMMAND_LSB[name]}), 1, 1, protocol)


@pytest.mark.parametrize("value", [0.0, 0.124, -1.0])
def test_saturation_is_never_zero_on_the_wire(value: float) -> None:
    """Zero switches the driver's current limit off."""
    with pytest.raises(RobotError, match="saturation"):
        codec.encode_command(command(saturation=value), 1, 1, 3)


@both
def test_an_unread_driver_is_all_zero(protocol: int) -> None:
    """The board zeroes the record of a driver without an answer, and sets its error."""
    error = np.zeros(6, dtype=np.intp)
    error[2] = p.ERROR_NO_ANSWER
    everything = dict.fromkeys(
        ("enabled", "ready", "index_seen", "index_toggle"), np.ones(12, dtype=bool)
    )
    payload = codec.encode_sensor(sensor(error=error, position=np.ones(12), **everything), protocol)
    assert payload[2 + 56 : 2 + 84] == b"\x0f" + bytes(27)
    back = codec.decode_sensor(payload, protocol)
    assert isinstance(back, SensorPacket)
    assert back.ready.tolist() == [True] * 4 + [False] * 2 + [True] * 6


@pytest.mark.parametrize(
    ("voltage", "current", "shown"),
    [
        (-0.01, 50.0, (0.0, (2**15 - 1) * p.BUS_CURRENT_LSB)),
        (1e6, -50.0, ((2**16 - 1) * p.VOLTAGE_LSB, -(2**15) * p.BUS_CURRENT_LSB)),
    ],
)
def test_a_power_meter_shows_its_end(
    voltage: float, current: float, shown: tuple[float, float]
) -> None:
    """The numbers of a flat battery and of a short circuit exceed the field and are clipped."""
    power = replace(sensor().power, voltage=voltage, current=current, energy=0.0)
    back = codec.decode_sensor(codec.encode_sensor(sensor(power=power), 4), 4)
    assert isinstance(back, SensorPacket)
    assert (back.power.voltage, back.power.current) == pytest.approx(shown)


def test_an_overloaded_imu_wraps() -> None:
    """The firmware casts without clamping, so 20 rad/s reads as -12."""
    imu = replace(sensor().imu, gyroscope=np.array([20.0, -17.0, 1.0]))
    back = codec.decode_sensor(codec.encode_sensor(sensor(imu=imu), 3), 3)
    assert isinstance(back, SensorPacket)
    np.testing.assert_allclose(back.imu.gyroscope, [-12.0, 15.0, 1.0], atol=p.GYROSCOPE_LSB)


@given(payload=st.binary(min_size=1, max_size=300), source=st.binary(min_size=6, max_size=6))
def test_frames_survive(payload: bytes, source: bytes) -> None:
    """Padding is removed."""
    frame = pack_frame(payload, source)
    assert len(frame) == max(64, 16 + len(payload))
    assert unpack_frame(frame) == Frame(source, payload)


def test_the_frame_of_a_command() -> None:
    """The frame has 188 bytes: broadcast, the vendor's address, ethertype, length, payload."""
    frame = pack_frame(codec.encode_command(command(), 1, 1, 3))
    assert len(frame) == 188
    assert frame[:16] == b"\xff" * 6 + PC_MAC + b"\x88\xb5" + bytes([172, 0])


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        bytes(15),
        pack_frame(b"1234")[:12] + b"\x88\xb4" + pack_frame(b"1234")[14:],
        pack_frame(bytes(172))[:-1],
    ],
)
def test_broken_frames_are_not_accepted(broken: bytes) -> None:
    """Such frames are too short, of another ethertype, or shorter than announced."""
    assert isinstance(unpack_frame(broken), Malformed)
