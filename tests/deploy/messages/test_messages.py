"""Messages: classes of lcm-gen with fixed sizes; malformed data are refused."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.common.sensors import Sensors
from deploy.messages import generated
from deploy.messages.authentication import MAC_SIZE
from deploy.messages.conversions import sensors_from_message, state_message
from deploy.messages.lcm_link import (
    CHANNELS,
    MESSAGE_SIZES,
    SIGNED,
    STATE_CHANNEL,
    blank,
    decode,
    new_session,
)
from tests.fuzz import decoders_hold

MESSAGES = Path(generated.__file__).parents[1]


def test_regeneration_is_identical(tmp_path: Path) -> None:
    """The committed classes equal lcm-gen's output of the .lcm files."""
    program = shutil.which("lcm-gen", path=str(Path(sys.executable).parent))
    assert program, "the lcm package brings lcm-gen"
    sources = sorted(str(path) for path in MESSAGES.glob("*.lcm"))
    subprocess.run(
        [program, "-p", "--ppath", str(tmp_path), *sources], check=True, capture_output=True
    )
    made = {path.name: path.read_bytes() for path in (tmp_path / "generated").glob("*.py")}
    kept = {path.name: path.read_bytes() for path in (MESSAGES / "generated").glob("*.py")}
    assert made == kept


PYTHON_TYPES = {"byte": "bytes", "double": "float"} | {
    f"int{bits}_t": "int" for bits in (8, 16, 32, 64)
}


def _expected_annotation(typename: str, dimensions: list[int] | None) -> str:
    python = PYTHON_TYPES[typename]
    if dimensions is None or python == "bytes":
        return python
    return f"Sequence[{python}]"


@pytest.mark.parametrize("channel", CHANNELS)
def test_stubs_declare_the_fields_of_the_generated_classes(channel: str) -> None:
    """Names, order and types are equal; a regenerated class needs a new stub."""
    kind = CHANNELS[channel]
    stub = ast.parse((MESSAGES / "generated" / f"{kind.__name__}.pyi").read_text())
    (body,) = (node.body for node in stub.body if isinstance(node, ast.ClassDef))
    declared = {
        ast.unparse(node.target): ast.unparse(node.annotation)
        for node in body
        if isinstance(node, ast.AnnAssign)
    }
    fields = zip(kind.__slots__, kind.__typenames__, kind.__dimensions__, strict=True)
    expected = [(name, _expected_annotation(kind, size)) for name, kind, size in fields]
    assert [item for item in declared.items() if not item[0].startswith("__")] == expected
    methods = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    assert all(callable(getattr(kind, name)) for name in methods)


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_message_has_one_size_sender_and_time(channel: str) -> None:
    """All fields have a fixed size, so the length is checked first. Messages can be ordered."""
    kind = CHANNELS[channel]
    assert set(kind.__slots__) >= {"sequence", "time_ns", "session"}
    assert "string" not in kind.__typenames__
    sizes = [size for dimension in kind.__dimensions__ for size in dimension or []]
    assert all(
        isinstance(size, int) for size in sizes
    )  # another type is the name of a field with the length
    message = blank(channel)
    message.sequence = message.session = 2**63 - 1
    assert len(message.encode()) == MESSAGE_SIZES[channel]


@pytest.mark.parametrize("channel", sorted(SIGNED))
def test_the_code_is_the_end_of_a_signed_message(channel: str) -> None:
    """Signing replaces the last bytes, which must be those of the code."""
    message = blank(channel)
    message.mac = bytes(range(1, MAC_SIZE + 1))
    assert message.encode()[-MAC_SIZE:] == message.mac
    assert CHANNELS[channel].__slots__[-1] == "mac"


@pytest.mark.parametrize("channel", CHANNELS)
def test_decode_takes_its_own_messages_only(channel: str) -> None:
    """A wrong length, another fingerprint or another channel's bytes are refused."""
    data = blank(channel).encode()
    assert decode(channel, data) is not None
    for length in (0, 1, 7, 8, len(data) - 1):
        assert decode(channel, data[:length]) is None
    assert decode(channel, data + b"\0") is None
    assert decode(channel, bytes([data[0] ^ 1]) + data[1:]) is None
    for other in CHANNELS:
        padded = blank(other).encode().ljust(len(data), b"\0")[: len(data)]
        assert (decode(channel, padded) is not None) == (other == channel)


@given(st.sampled_from(sorted(CHANNELS)), st.binary(max_size=600), st.booleans())
def test_decode_never_raises(channel: str, data: bytes, fitting: bool) -> None:
    """The result is None, or a message that encodes to the same bytes."""
    if fitting:
        data = data.ljust(MESSAGE_SIZES[channel], b"\x5a")[: MESSAGE_SIZES[channel]]
    message = decode(channel, data)
    assert message is None or message.encode() == data


def test_twenty_thousand_malformed_messages() -> None:
    """This is a short run of the fuzzer; `python -m tests.fuzz` runs a million."""
    assert decoders_hold(20_000, seed=1) == 20_000


numbers = st.floats(width=64)


@given(
    st.lists(numbers, min_size=47, max_size=47), st.integers(0, 2**24 - 1), st.integers(0, 2**53)
)
def test_sensors_survive_the_wire(values: list[float], bits: int, time_us: int) -> None:
    """All bits are equal, including NaN and infinity; errors become flags."""
    row = np.array(values)
    sensors = Sensors(
        time=time_us * 1e-6, joint_position=row[:12], joint_velocity=row[12:24],
        joint_torque=row[24:36],
        angular_velocity_b=row[36:39], acceleration_b=row[39:42], quaternion=row[42:46],
        voltage=float(row[46]),
        ready=(bits >> np.arange(12)) & 1 == 1, errors=15 * ((bits >> np.arange(12, 24)) & 1),
    )  # fmt: skip
    message = decode(STATE_CHANNEL, state_message(sensors).encode())
    assert message is not None
    found = sensors_from_message(message)
    assert abs(found.time - sensors.time) <= 1e-9 + 1e-15 * sensors.time
    for name in (
        "joint_position",
        "joint_velocity",
        "joint_torque",
        "angular_velocity_b",
        "acceleration_b",
    ):
        assert np.array_equal(getattr(found, name), getattr(sensors, name), equal_nan=True)
    assert np.array_equal(found.quaternion, sensors.quaternion, equal_nan=True)
    assert np.array_equal([found.voltage], [sensors.voltage], equal_nan=True)
    assert found.ready.tolist() == sensors.ready.tolist()
    assert found.errors.tolist() == (sensors.errors != 0).tolist()


def test_sessions_are_not_guessed_and_fit() -> None:
    """A session identifies a process: never zero, never repeated, within 64 bits."""
    drawn = {new_session() for _ in range(1000)}
    assert len(drawn) == 1000
    assert all(0 < session < 2**63 for session in drawn)
