"""The cable: errors with a remedy, and a complete recorder."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.reader import make_reader

from deploy.common.robot_error import RobotError
from deploy.logs.wire_mcap import export, schema
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire import wire_recorder as recorder
from deploy.robots.odri.wire.ethernet import pack_frame
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.wire.protocol import Ack, CommandPacket, Init, Malformed, SensorPacket
from deploy.robots.virtual_board.board_server import REPEATED
from tests.contract.board_runs import beside_board
from tests.deploy.robots.odri.packets import command, sensor


@pytest.mark.parametrize(
    ("cards", "listed"), [(("wlan0", "lo", "enp5s0"), "enp5s0, lo, wlan0"), ((), "none")]
)
def test_the_error_for_a_missing_interface_lists_the_present_ones(
    cards: tuple[str, ...], listed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list has all network interfaces in alphabetical order, wired or not."""
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(cards, start=1)))
    with pytest.raises(RobotError) as error:
        EthernetLink("nosuch")
    assert str(error.value) == (
        f"There is no network interface 'nosuch'. Interfaces here: {listed}. "
        "Expected a wired one, whose name begins with 'e'."
    )


def test_loopback_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vendor's library crashes on it."""
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "enp5s0")])
    with pytest.raises(RobotError) as error:
        EthernetLink("lo")
    assert str(error.value) == (
        "'lo' is not a wired interface by its name, which must begin with 'e'. "
        "Interfaces here: enp5s0, lo."
    )


def test_a_missing_right_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command grants CAP_NET_RAW to the running interpreter."""

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
    """Return the far end of a cable, and a link at the near end."""
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
    """The session reports their number as well."""
    far, link = cable
    for frame in (b"?", pack_frame(b"x" * 60)[:40], pack_frame(b"good")):
        far.send(frame)
    found = link.receive(1.0)
    assert found is not None
    assert found.payload == b"good"
    assert (link.malformed, NativeBoard(link).rejected) == (2, 2)


def test_a_flood_of_malformed_frames_does_not_delay_a_poll(
    cable: tuple[socket.socket, EthernetLink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll without a time limit ends for any number of frames."""
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
    """Write a recording and return its bytes."""
    header = recorder.FILE_HEADER.pack(recorder.MAGIC, 2, 4, 0, 0, 65535, 1)
    data = header + b"".join(
        recorder.pack_record(5 * 10**9 + n, frame) for n, (frame, _) in enumerate(FRAMES)
    )
    path.write_bytes(data)
    return data


def test_a_recording_is_read_by_the_decoders(tmp_path: Path) -> None:
    """Every kind of packet is decoded in order, with time and sender."""
    written(tmp_path / "wire.pcap")
    records = list(recorder.replay(tmp_path / "wire.pcap"))
    assert [type(record.packet) for record in records] == [kind for _, kind in FRAMES]
    assert [record.time_ns for record in records] == [5 * 10**9 + n for n in range(len(FRAMES))]
    assert [record.from_pc for record in records] == [True, False, True, False, False, False]


def test_a_recording_that_was_cut_off_is_read_to_its_last_whole_record(tmp_path: Path) -> None:
    """The recording may end at any byte."""
    data = written(tmp_path / "wire.pcap")
    whole = len(FRAMES)
    for cut in range(1, 100, 7):
        (tmp_path / "wire.pcap").write_bytes(data[:-cut])
        assert len(list(recorder.replay(tmp_path / "wire.pcap"))) in (whole - 1, whole - 2)


def test_other_files_are_no_recordings(tmp_path: Path) -> None:
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
while not Path(sys.argv[1]).exists():
    time.sleep(0.01)
board = NativeBoard(EthernetLink("esolo0"))
while not board.connect():
    time.sleep(0.002)
for _ in range(100):
    board.send(motors_off())
    assert board.receive(60.0) is not None
over.set()
listener.join()
"""


def test_the_recorder_records_both_sides(tmp_path: Path) -> None:
    """It has a hundred commands and a hundred measurements with the index of their command."""
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
    # A board in lock-step repeats packets while the PC is late; no other packet has another type.
    repeated = f"ethertype {REPEATED:x}"
    assert all(repeated in packet.reason for packet in packets if isinstance(packet, Malformed))
    times = [record.time_ns for record in recorder.replay(path)]
    assert times == sorted(times)  # times of the kernel, not of reading


def test_a_recording_goes_into_viewers(tmp_path: Path) -> None:
    """Every packet has the topic of its kind, with its numbers.

    Packets that no decoder accepts have a topic, too.
    """
    written(tmp_path / "wire.pcap")
    assert export(tmp_path / "wire.pcap", tmp_path / "wire.mcap") == len(FRAMES)
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
