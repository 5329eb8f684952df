"""The recorder: the last half minute survives any kill, and the loop is never delayed."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lcm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.messages.lcm_link import COMMAND_CHANNEL, MESSAGE_SIZES, STATE_CHANNEL
from deploy.recorder import recorder as recording
from deploy.recorder.recorder import (
    CAUSE_FILE,
    LOG_FILE,
    WORK_FILE,
    Recorder,
    Ring,
    read_log,
    write_log,
)
from tests.common.disks import small_disk

Event = tuple[int, str, bytes]
SHARED = Path("/dev/shm")


def body(number: int) -> bytes:
    """Return bytes that contain their number."""
    return struct.pack("<q", number)


def numbers(events: list[Event]) -> list[int]:
    """Return the numbers in `body`."""
    return [struct.unpack("<q", data)[0] for _, _, data in events]


@pytest.fixture
def ring() -> Any:  # a generator
    """A ring of ten messages."""
    ring = Ring(slots=10)
    yield ring
    ring.close(unlink=True)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25, 100])
def test_a_ring_keeps_the_newest(count: int, ring: Ring) -> None:
    """The newest messages are in order; a partly written last one is left out."""
    for number in range(count):
        ring.put(STATE_CHANNEL if number % 2 else COMMAND_CHANNEL, body(number))
    found = ring.events()
    assert numbers(found) == list(range(max(0, count - 9), count))
    assert [channel for _, channel, _ in found] == [
        STATE_CHANNEL if n % 2 else COMMAND_CHANNEL for n in numbers(found)
    ]


def test_a_ring_takes_the_largest_message(ring: Ring) -> None:
    """Every kind of message fits from its first to its last byte."""
    for channel, size in MESSAGE_SIZES.items():
        ring.put(channel, bytes(range(256)) * 2 if size > 512 else bytes(range(256))[:1] * size)
    assert [len(data) for _, _, data in ring.events()] == list(MESSAGE_SIZES.values())


def test_a_ring_that_is_written_while_it_is_read_stays_whole(
    ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer reads while the loop continues; overwritten messages are left out."""
    for number in range(10):
        ring.put(STATE_CHANNEL, body(number))
    slow = struct.Struct("<qii")
    reads = 0

    class Slow:
        """A header that is slow to read."""

        size = slow.size

        @staticmethod
        def unpack_from(*arguments: Any) -> Any:
            """Let the loop write three messages in between."""
            nonlocal reads
            reads += 1
            if reads == 2:
                monkeypatch.setattr(recording, "SLOT_HEADER", slow)
                for number in (10, 11, 12):
                    ring.put(STATE_CHANNEL, body(number))
                monkeypatch.setattr(recording, "SLOT_HEADER", Slow)
            return slow.unpack_from(*arguments)

    monkeypatch.setattr(recording, "SLOT_HEADER", Slow)
    assert numbers(ring.events()) == list(range(4, 10))


def test_other_processes_can_read_our_logs(tmp_path: Path) -> None:
    """LCM's own reader returns the same events."""
    events = [
        (1_000_000 + number, (STATE_CHANNEL, COMMAND_CHANNEL)[number % 2], body(number))
        for number in range(50)
    ]
    write_log(events, tmp_path / "log")
    assert list(read_log(tmp_path / "log")) == events
    log = lcm.EventLog(str(tmp_path / "log"), "r")
    found = [(event.eventnum, event.timestamp, event.channel, event.data) for event in log]
    log.close()
    assert found == [(number, *event) for number, event in enumerate(events)]
    assert list(tmp_path.iterdir()) == [tmp_path / "log"]


@given(st.integers(0, 50 * 46), st.binary(max_size=40))
def test_a_cut_log_is_read_as_far_as_it_goes(length: int, rubbish: bytes) -> None:
    """After a full disk or a power cut, complete events are read without an exception."""
    path = Path(f"/tmp/solo-cut-log-{os.getpid()}")
    events = [(number, STATE_CHANNEL, body(number)) for number in range(50)]
    try:
        write_log(events, path)
        size = path.stat().st_size
        content = path.read_bytes()[: min(length, size)]
        path.write_bytes(content)
        whole = len(content) // (size // 50)
        assert list(read_log(path)) == events[:whole]
        path.write_bytes(content + rubbish)
        assert list(read_log(path))[:whole] == events[:whole]
    finally:
        path.unlink()


def test_the_log_is_there_after_the_end(tmp_path: Path) -> None:
    """Log, incidents and their causes remain, without shared memory."""
    recorder = Recorder(tmp_path / "run")
    name = recorder._ring.name
    assert (tmp_path / "run" / WORK_FILE).exists()
    for number in range(100):
        recorder.put(STATE_CHANNEL, body(number))
    recorder.incident("the base is tilted\nby 1.2 rad")
    recorder.incident("again")
    recorder.close()
    folder = tmp_path / "run"
    assert numbers(list(read_log(folder / LOG_FILE))) == list(range(100))
    assert (folder / "incident-1" / CAUSE_FILE).read_text() == "the base is tilted by 1.2 rad\n"
    assert numbers(list(read_log(folder / "incident-2" / LOG_FILE))) == list(range(100))
    assert not (folder / WORK_FILE).exists()
    assert not (SHARED / name).exists()


LOOP = """
import os, signal, struct, sys
from pathlib import Path
from deploy.recorder.recorder import Recorder
recorder = Recorder(Path(sys.argv[1]))
for number in range(1000):
    recorder.put("SOLO_STATE", struct.pack("<q", number))
print(recorder._ring.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_loop_still_gets_its_log(tmp_path: Path) -> None:
    """After SIGKILL the writer writes all messages and frees the memory."""
    result = subprocess.run(
        [sys.executable, "-c", LOOP, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )  # the output ends when the writer, which shares it, has ended
    assert result.returncode == -signal.SIGKILL
    assert numbers(list(read_log(tmp_path / LOG_FILE))) == list(range(1000))
    assert [path.name for path in tmp_path.iterdir()] == [LOG_FILE]
    assert not (SHARED / result.stdout.strip()).exists()


def test_ctrl_c_does_not_stop_the_writer(tmp_path: Path) -> None:
    """A terminal sends it to every process; the log's writer must survive the loop."""
    recorder = Recorder(tmp_path)
    recorder.put(STATE_CHANNEL, body(1))
    recorder.incident("first")  # answered after its start
    _await(tmp_path / "incident-1" / CAUSE_FILE)
    recorder._writer.send_signal(signal.SIGINT)
    recorder._writer.send_signal(signal.SIGTERM)
    recorder.put(STATE_CHANNEL, body(2))
    recorder.close()
    assert numbers(list(read_log(tmp_path / LOG_FILE))) == [1, 2]


def test_a_writer_that_is_gone_does_not_stop_the_loop(tmp_path: Path) -> None:
    """Control continues without a log, and no memory is left."""
    recorder = Recorder(tmp_path)
    name = recorder._ring.name
    recorder._writer.kill()
    recorder._writer.wait()
    recorder.put(STATE_CHANNEL, body(1))
    recorder.incident("not written")
    recorder.close()
    assert list(tmp_path.iterdir()) == []
    assert not (SHARED / name).exists()


def test_freed_memory_is_not_freed_again() -> None:
    """A writer that fails frees its memory and still reports the failure."""
    ring = Ring(slots=10)
    (SHARED / ring.name).unlink()
    ring.close(unlink=True)


def test_a_full_disk_is_reported_and_control_continues(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each log that does not fit is reported; no partial files remain, and the loop continues."""
    with small_disk(tmp_path, "64k"):
        recorder = Recorder(tmp_path)
        name = recorder._ring.name
        for number in range(2000):
            recorder.put(STATE_CHANNEL, body(number))
        recorder.incident("too large")
        recorder.put(STATE_CHANNEL, body(2000))
        recorder.close()
        assert list(tmp_path.iterdir()) == []
    told = capfd.readouterr().err.splitlines()
    assert told == [
        f"recorder: {tmp_path / file} could not be written (No space left on device); control "
        f"continues."
        for file in ("incident-1", LOG_FILE)
    ]
    assert not (SHARED / name).exists()


def test_a_file_of_rubbish_is_no_log(tmp_path: Path) -> None:
    """Reading such a file gives no events and no error."""
    for content in (b"", b"\0" * 1000, b"\xed\xa1\xda\x01" + b"\xff" * 100):
        (tmp_path / "log").write_bytes(content)
        assert list(read_log(tmp_path / "log")) == []


def _await(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
