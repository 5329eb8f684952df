"""The recorder of the cable: recorded frames, and files that cannot be written."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

import pytest

from deploy.common.robot_error import RobotError
from deploy.robots.odri.wire import wire_recorder
from deploy.robots.odri.wire.ethernet import pack_frame

FRAME = pack_frame(b"?" * 50)
RECORD = wire_recorder.RECORD_HEADER.size + len(FRAME)


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Far end of a cable; the recorder listens at the near end."""
    far, near = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.setblocking(False)
    monkeypatch.setattr(wire_recorder, "check_interface", lambda interface: None)
    monkeypatch.setattr(wire_recorder, "open_socket", lambda interface, kind: near)
    yield far
    far.close()
    near.close()


def sending(far: socket.socket, counts: list[int]) -> Callable[[], bool]:
    """Return a `stop` that sends `counts` frames per call, and is true at the last call."""

    def stop() -> bool:
        for _ in range(counts.pop(0)):
            far.send(FRAME)
        return not counts

    return stop


def test_all_frames_before_the_end_are_recorded(far: socket.socket, tmp_path: Path) -> None:
    """Frames that arrive together with the request to stop are recorded too."""
    path = tmp_path / "wire.pcap"
    assert wire_recorder.record("e0", path, sending(far, [2, 0, 1, 3])) == 6
    assert [record.frame for record in wire_recorder.replay(path)] == 6 * [FRAME]


def test_a_missing_folder_is_named(far: socket.socket, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "wire.pcap"
    with pytest.raises(RobotError) as error:
        wire_recorder.record("e0", path, sending(far, [0]))
    assert str(error.value) == (
        f"{path}: cannot be written (No such file or directory). Choose another place."
    )


def test_a_file_that_appears_meanwhile_is_kept(
    far: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another recorder may create it after the first check."""
    path = tmp_path / "wire.pcap"
    path.write_text("another recording")
    monkeypatch.setattr(Path, "exists", lambda path: False)
    with pytest.raises(RobotError, match="exists: recordings are never overwritten"):
        wire_recorder.record("e0", path, sending(far, [0]))
    assert path.read_text() == "another recording"


def fill_disk(monkeypatch: pytest.MonkeyPatch, space: int) -> None:
    """Simulate a disk with `space` free bytes."""

    class FullDisk(FileIO):
        """A file that writes the bytes that fit, then fails, like a file on a full disk."""

        def write(self, data: bytes) -> int:  # type: ignore[override]  # bytes are all it gets
            left = space - self.tell()
            if not left:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data[:left])

    monkeypatch.setattr(wire_recorder, "FileIO", FullDisk)


def test_a_full_disk_keeps_all_whole_records(
    far: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has space for two and a half records; two remain readable."""
    fill_disk(monkeypatch, wire_recorder.FILE_HEADER.size + 5 * RECORD // 2)
    path = tmp_path / "wire.pcap"
    with pytest.raises(RobotError) as error:
        wire_recorder.record("e0", path, sending(far, [1, 3, 1]))
    assert str(error.value) == (
        f"{path}: cannot be written (No space left on device). Free space or choose another "
        "place. Whole records are kept."
    )
    assert len(list(wire_recorder.replay(path))) == 2


@pytest.mark.parametrize("space", [0, 10])
def test_a_disk_without_space_for_the_first_bytes_leaves_no_file(
    space: int, far: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next attempt must not be refused because of an existing file."""
    fill_disk(monkeypatch, space)
    with pytest.raises(RobotError, match="No space left on device"):
        wire_recorder.record("e0", tmp_path / "wire.pcap", sending(far, [0]))
    assert list(tmp_path.iterdir()) == []
