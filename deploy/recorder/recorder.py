"""The black box: the last half minute in shared memory, written to disk by a process of its own.

The loop only copies bytes into a ring that was there before it started. A second process writes the ring as an LCM
event log when it is asked to, and also when the loop's process dies.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from deploy.common.signals import on_ending
from deploy.messages.lcm_link import CHANNELS, SIZES
from solo_doi.common.child_python import child_environment, module_command

SLOT_HEADER = struct.Struct("<qii")  # time [us], number of the channel, length
SLOT = SLOT_HEADER.size + max(SIZES.values())
EVENT_HEADER = struct.Struct(
    ">Iqqii"
)  # LCM's event log: mark, number, time [us], lengths of channel and data
EVENT_MARK = 0xEDA1DA01
NAMES = tuple(CHANNELS)
SECONDS, MESSAGES_PER_SECOND = 30, 2100
LOG_FILE, CAUSE_FILE = "log.lcm", "cause.txt"
WORK_FILE = ".recording"
"""There for as long as somebody is about to write a log."""


SHARED_MEMORY = Path("/dev/shm")
"""Where Linux keeps shared memory as files."""


class Ring:
    """A fixed number of messages in shared memory; new ones take the place of the oldest."""

    def __init__(self, name: str | None = None, slots: int = SECONDS * MESSAGES_PER_SECOND) -> None:
        """Create a ring, or with a name open one that exists."""
        # Not `multiprocessing.shared_memory`: it starts a further Python, which imports from the
        # current directory, and which frees the memory when this process dies, before the writer
        # has read it.
        if name is None:
            file, path = tempfile.mkstemp(prefix="solo-", dir=SHARED_MEMORY)
            self._path = Path(path)
            os.posix_fallocate(file, 0, 8 + slots * SLOT)
        else:
            self._path = SHARED_MEMORY / name
            file = os.open(self._path, os.O_RDWR)
        self._memory = mmap.mmap(file, 0)
        os.close(file)
        self._slots = (len(self._memory) - 8) // SLOT
        self._view = memoryview(self._memory)
        self._count = 0
        if name is None:  # touch every page now, so that the loop meets no page fault
            self._view[:] = bytes(len(self._memory))

    @property
    def name(self) -> str:
        """What another process opens it by."""
        return self._path.name

    def put(self, channel: str, data: bytes) -> None:
        """Keep a message."""
        start = 8 + self._count % self._slots * SLOT
        header = SLOT_HEADER.pack(time.time_ns() // 1000, NAMES.index(channel), len(data))
        self._view[start : start + len(header)] = header
        self._view[start + len(header) : start + len(header) + len(data)] = data
        self._count += 1
        self._view[:8] = self._count.to_bytes(8, "little")  # last: what is counted is whole

    def events(self) -> list[tuple[int, str, bytes]]:
        """Return time [us], channel and bytes of all messages, oldest first."""
        count = int.from_bytes(self._view[:8], "little")
        first = max(0, count - self._slots)
        events = []
        for number in range(first, count):
            start = 8 + number % self._slots * SLOT
            when, channel, length = SLOT_HEADER.unpack_from(self._view, start)
            body = start + SLOT_HEADER.size
            events.append((when, NAMES[channel], bytes(self._view[body : body + length])))
        # The loop may have gone on, or have been killed at work: leave out what it wrote over, or was about to.
        whole = int.from_bytes(self._view[:8], "little") + 1 - self._slots
        return events[max(0, whole - first) :]

    def close(self, *, unlink: bool) -> None:
        """Let go of the memory; `unlink` it if nobody else will."""
        self._view.release()
        self._memory.close()
        if unlink:
            self._path.unlink(missing_ok=True)


def write_log(events: list[tuple[int, str, bytes]], path: Path) -> None:
    """Write an LCM event log, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            for number, (when, channel, data) in enumerate(events):
                name = channel.encode()
                file.write(
                    EVENT_HEADER.pack(EVENT_MARK, number, when, len(name), len(data)) + name + data
                )
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)  # a full disk has better uses
        raise


def read_log(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Read an LCM event log up to its end, or to where it was cut off."""
    content = path.read_bytes()
    place = 0
    while place + EVENT_HEADER.size <= len(content):
        mark, _, when, channel, length = EVENT_HEADER.unpack_from(content, place)
        body = place + EVENT_HEADER.size
        if mark != EVENT_MARK or min(channel, length) < 0 or body + channel + length > len(content):
            return
        name = content[body : body + channel].decode("utf-8", "replace")
        yield when, name, content[body + channel : body + channel + length]
        place = body + channel + length


class Recorder:
    """The loop's side: a ring, and a pipe to the process that writes."""

    def __init__(self, folder: Path, kept: tuple[Path, ...] = ()) -> None:
        """Start the writer; logs go to `folder`, and with every incident a copy of the files in `kept`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._ring, self._work = Ring(), folder / WORK_FILE
        self.put = self._ring.put
        with contextlib.suppress(OSError):  # on a full disk nobody will wait for a log
            self._work.touch()
        # In a session of its own, where the terminal's Ctrl-C does not reach it, not even while it starts.
        self._writer = subprocess.Popen(
            module_command(
                "deploy.recorder.recorder", self._ring.name, str(folder), *map(str, kept)
            ),
            env=child_environment(),
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def incident(self, what: str) -> None:
        """Have what led to a fault written, without waiting for it."""
        assert self._writer.stdin is not None
        try:
            self._writer.stdin.write(what.replace("\n", " ") + "\n")
            self._writer.stdin.flush()
        except OSError:  # the writer is gone; control goes on
            pass

    def close(self) -> None:
        """Have the log written, and wait for it."""
        assert self._writer.stdin is not None
        with contextlib.suppress(OSError):
            self._writer.stdin.close()
        well = self._writer.wait() == 0
        self._work.unlink(missing_ok=True)  # a writer that was killed has done neither
        self._ring.close(unlink=not well)


def next_incident(folder: Path) -> Path:
    """Where the next incident of a deployment goes."""
    return folder / f"incident-{1 + len(list(folder.glob('incident-*')))}"


def write_incident(
    events: list[tuple[int, str, bytes]], incident: Path, kept: list[Path], cause: str
) -> None:
    """Write the folder that tells what led to a fault: log, cause, copies of what was running; or nothing."""
    with tempfile.TemporaryDirectory(prefix=".incident-", dir=incident.parent) as name:
        partial = Path(name) / "whole"
        partial.mkdir()
        write_log(events, partial / LOG_FILE)
        (partial / CAUSE_FILE).write_text(cause.strip() + "\n")
        for path in kept:
            shutil.copy(path, partial / path.name)
        partial.rename(incident)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        sys.stderr.write(
            f"recorder: {path} could not be written ({error.strerror}); control goes on.\n"
        )


def main() -> None:
    """Write incidents as they are told, and the log when nobody is left to tell."""
    on_ending(signal.SIG_IGN)  # Ctrl-C and the end of a terminal reach all its processes
    name, folder, *kept = sys.argv[1:]
    ring = Ring(name)
    try:
        for line in sys.stdin:
            incident = next_incident(Path(folder))
            with _told(incident):
                write_incident(ring.events(), incident, [Path(path) for path in kept], line)
        with _told(Path(folder) / LOG_FILE):
            write_log(ring.events(), Path(folder) / LOG_FILE)
    finally:
        ring.close(unlink=True)
        (Path(folder) / WORK_FILE).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
