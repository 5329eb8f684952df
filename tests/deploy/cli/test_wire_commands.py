"""solo-deploy record-wire and convert-wire: recordings of the master board's cable."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from deploy.cli import deploy as cli
from deploy.robots.odri.wire import wire_recorder
from deploy.robots.odri.wire.ethernet import pack_frame
from tests.command import Command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-deploy, run in this process."""
    return Command("solo-deploy", cli.main, monkeypatch, capsys)


def test_a_recording_ends_with_ctrl_c(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of an interrupted command; the message confirms the recording."""
    seen = []

    def interrupted(interface: str, path: Path, _: object) -> int:
        seen.append((interface, path))
        raise KeyboardInterrupt

    monkeypatch.setattr(wire_recorder, "record", interrupted)
    assert command("record-wire", "enp5s0", "wire.pcap") == (
        130,
        "",
        "solo-deploy: stopped. The recording is complete.\n",
    )
    assert seen == [("enp5s0", Path("wire.pcap"))]


def test_a_recording_is_never_overwritten(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An existing file stays unchanged."""
    monkeypatch.setattr(wire_recorder, "check_interface", lambda interface: None)
    path = tmp_path / "wire.pcap"
    path.write_text("an earlier recording")
    assert command.error("record-wire", "enp5s0", path) == (
        f"{path} exists: recordings are never overwritten. Choose another name."
    )
    assert path.read_text() == "an earlier recording"


def test_a_missing_interface_is_an_error_of_one_line(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error lists the existing interfaces, and no file is written."""
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "enp5s0")])
    assert command.error("record-wire", "nosuch", tmp_path / "wire.pcap") == (
        "There is no network interface 'nosuch'. Interfaces here: enp5s0, lo. "
        "Expected a wired one, whose name begins with 'e'."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_right_leaves_no_file(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next attempt, with the right, must not be refused because of an existing file."""

    def refuse(*arguments: object) -> socket.socket:
        raise PermissionError

    monkeypatch.setattr(wire_recorder, "check_interface", lambda interface: None)
    monkeypatch.setattr("deploy.robots.odri.wire.ethernet_link.socket.socket", refuse)
    error = command.error("record-wire", "enp5s0", tmp_path / "wire.pcap")
    assert error.startswith("Raw Ethernet on 'enp5s0' needs CAP_NET_RAW. Run once: ")
    assert "sudo setcap cap_net_raw" in error
    assert list(tmp_path.iterdir()) == []


def test_a_converted_recording_is_counted(command: Command, tmp_path: Path) -> None:
    """A packet of an unknown kind counts as well."""
    recording, mcap = tmp_path / "wire.pcap", tmp_path / "wire.mcap"
    header = wire_recorder.FILE_HEADER.pack(wire_recorder.MAGIC, 2, 4, 0, 0, 65535, 1)
    recording.write_bytes(header + wire_recorder.pack_record(7, pack_frame(b"?" * 50)))
    assert command.good("convert-wire", recording, mcap) == f"{mcap}: 1 packets\n"
    assert mcap.is_file()


def test_a_missing_recording_is_an_error_of_one_line(command: Command, tmp_path: Path) -> None:
    """The error names the command that records, and no file is written."""
    assert command.error("convert-wire", tmp_path / "nope", tmp_path / "y.mcap") == (
        f"{tmp_path}/nope: no such file. Expected a recording by `solo-deploy record-wire`."
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_recording_is_not_reported_as_the_output(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error names the file that cannot be read, and no file is made."""
    recording = tmp_path / "wire.pcap"
    recording.touch()

    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert command.error("convert-wire", recording, tmp_path / "wire.mcap") == (
        f"{recording}: cannot be read (Permission denied)."
    )
    assert list(tmp_path.iterdir()) == [recording]
