"""The cable: errors that say what to do, and a recorder that misses nothing."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.reader import make_reader

from deploy.common.robot_error import RobotError
from deploy.logs import wire_mcap
from deploy.logs.mcap_log import write
from deploy.logs.wire_mcap import messages, schema
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import wire_recorder as recorder
from deploy.robots.odri.wire.ethernet import pack_frame
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.wire.protocol import Ack, CommandPacket, Init, Malformed, SensorPacket
from deploy.robots.virtual_board.board_server import REPEATED
from solo_doi.common.errors import SoloError
from tests.contract.board_runs import beside_board

from .packets import command, sensor


def test_a_missing_interface_is_named() -> None:
    """With those that are there."""
    with pytest.raises(RobotError, match=r"no network interface 'enope0'.*here"):
        EthernetLink("enope0")


def test_loopback_is_refused() -> None:
    """The vendor's library crashes on it."""
    with pytest.raises(RobotError, match="'lo' is not a wired interface"):
        EthernetLink("lo")


def test_a_missing_right_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """CAP_NET_RAW, for the very interpreter that runs."""

    def refuse(*arguments: object) -> socket.socket:
        raise PermissionError

    monkeypatch.setattr(
        "deploy.robots.odri.wire.ethernet_link.check_interface", lambda interface: None
    )
    monkeypatch.setattr("deploy.robots.odri.wire.ethernet_link.socket.socket", refuse)
    with pytest.raises(RobotError, match=r"sudo setcap cap_net_raw\S*\+ep /\S*python"):
        EthernetLink("eth9")


@pytest.fixture
def cable(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, EthernetLink]]:
    """The far end of a cable, and a link at the near one."""
    far, near = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.setblocking(False)
    monkeypatch.setattr(
        "deploy.robots.odri.wire.ethernet_link.check_interface", lambda interface: None
    )
    monkeypatch.setattr(
        "deploy.robots.odri.wire.ethernet_link.open_socket", lambda interface, kind: near
    )
    link = EthernetLink("e0")
    yield far, link
    far.close()
    link.close()


def test_malformed_frames_are_passed_over_and_counted(
    cable: tuple[socket.socket, EthernetLink],
) -> None:
    """Also by the session that a person is told of."""
    far, link = cable
    for frame in (b"?", pack_frame(b"x" * 60)[:40], pack_frame(b"good")):
        far.send(frame)
    found = link.receive(1.0)
    assert found is not None
    assert found.payload == b"good"
    assert (link.malformed, NativeBoard(link).rejected) == (2, 2)


def test_a_flood_of_malformed_frames_does_not_hold_up_a_look(
    cable: tuple[socket.socket, EthernetLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many more come, a look that has no time ends."""
    far, link = cable
    monkeypatch.setattr("deploy.robots.odri.wire.ethernet_link.MOST_MALFORMED", 3)
    for _ in range(5):
        far.send(b"?")
    assert link.receive(0.0) is None
    assert link.malformed == 3
    assert link.receive(0.0) is None
    assert link.malformed == 5


FRAMES = (
    (pack_frame(codec.encode_init(Init(4, 7))), Init),
    (pack_frame(codec.encode_ack(Ack(4, 7, 63), 4), bytes(6)), Ack),
    (pack_frame(codec.encode_command(command(), 7, 1, 3)), CommandPacket),
    (pack_frame(codec.encode_sensor(sensor(), 3), bytes(6)), SensorPacket),
    (pack_frame(codec.encode_sensor(sensor(), 4), bytes(6)), SensorPacket),
    (pack_frame(b"?" * 50, bytes(6)), Malformed),
)


def written(path: Path) -> bytes:
    """Write a recording by hand and return its bytes."""
    header = recorder.FILE_HEADER.pack(recorder.MAGIC, 2, 4, 0, 0, 65535, 1)
    data = header + b"".join(
        recorder.pack_record(5 * 10**9 + n, frame) for n, (frame, _) in enumerate(FRAMES)
    )
    path.write_bytes(data)
    return data


def test_a_recording_is_read_by_the_decoders(tmp_path: Path) -> None:
    """Every kind of packet, in order, with time and sender."""
    written(tmp_path / "wire.pcap")
    records = list(recorder.replay(tmp_path / "wire.pcap"))
    assert [type(record.packet) for record in records] == [kind for _, kind in FRAMES]
    assert [record.time_ns for record in records] == [5 * 10**9 + n for n in range(len(FRAMES))]
    assert [record.from_pc for record in records] == [True, False, True, False, False, False]


def test_a_recording_that_was_cut_off_is_read_to_its_last_whole_record(tmp_path: Path) -> None:
    """Wherever the power went."""
    data = written(tmp_path / "wire.pcap")
    whole = len(FRAMES)
    for cut in range(1, 100, 7):
        (tmp_path / "wire.pcap").write_bytes(data[:-cut])
        assert len(list(recorder.replay(tmp_path / "wire.pcap"))) in (whole - 1, whole - 2)


def test_other_files_are_no_recordings(tmp_path: Path) -> None:
    """Said at once."""
    (tmp_path / "x").write_bytes(b"hello, world, this is text")
    with pytest.raises(RobotError, match="not a recording"):
        list(recorder.replay(tmp_path / "x"))


CLIENT = """
import sys, threading, time
from pathlib import Path
from deploy.robots.odri.wire import wire_recorder as recorder
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.drivers.motors import motors_off
from deploy.robots.odri.drivers.native_board import NativeBoard
over = threading.Event()
listener = threading.Thread(target=recorder.record, args=("esolo0", Path(sys.argv[1]), over.is_set))
listener.start()
time.sleep(0.3)
board = NativeBoard(EthernetLink("esolo0"))
while not board.connect():
    time.sleep(0.002)
for _ in range(100):
    board.send(motors_off())
    assert board.receive(2.0) is not None
time.sleep(0.3)
over.set()
listener.join()
"""


def test_the_recorder_hears_both_sides(tmp_path: Path) -> None:
    """A hundred commands and a hundred measurements, each confirming its command."""
    path = tmp_path / "wire.pcap"
    beside_board(sys.executable, "-c", CLIENT, str(path), protocol=4)
    packets = [record.packet for record in recorder.replay(path)]
    commands = [packet.index for packet in packets if isinstance(packet, CommandPacket)]
    confirmed = [
        packet.last_command
        for packet in packets
        if isinstance(packet, SensorPacket) and packet.session
    ]
    assert commands == list(range(100))
    assert confirmed[-100:] == commands
    # A board in lock-step repeats itself while the PC is late; nothing else is of another type.
    repeated = f"ethertype {REPEATED:x}"
    assert all(repeated in packet.reason for packet in packets if isinstance(packet, Malformed))
    times = [record.time_ns for record in recorder.replay(path)]
    assert times == sorted(times)  # the kernel's, not of when they were read


def test_a_recording_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It, not the file that would have been written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["wire_mcap", "nope", "y.mcap"])
    with pytest.raises(SoloError) as error:
        wire_mcap.main()
    assert (
        str(error.value) == "nope: no such file. Expected a recording by `python -m "
        "deploy.robots.odri.wire.wire_recorder`."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_recording_goes_into_viewers(tmp_path: Path) -> None:
    """Every packet under a topic of its kind, with its numbers.

    What no decoder accepts is there, too.
    """
    written(tmp_path / "wire.pcap")
    assert write(messages(tmp_path / "wire.pcap"), tmp_path / "wire.mcap") == len(FRAMES)
    with (tmp_path / "wire.mcap").open("rb") as file:
        rows = [
            (channel.topic, json.loads(message.data))
            for _, channel, message in make_reader(file).iter_messages()
        ]
    assert {topic for topic, _ in rows} == {
        f"wire/{name}" for name in ("init", "ack", "command", "sensor", "malformed")
    }
    sensors = [content for topic, content in rows if topic == "wire/sensor"]
    assert all(len(content["position"]) == 12 and not content["from_pc"] for content in sensors)
    assert schema({"a": [1.5], "b": True, "c": "x"})["properties"] == {
        "a": {"type": "array", "items": {"type": "number"}}, "b": {"type": "boolean"},
        "c": {"type": "string"},
    }  # fmt: skip
