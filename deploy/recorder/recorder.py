"""Flight recorder: the last 30 s in shared memory, written to disk by a child process.

The loop only copies bytes into a preallocated ring. The child process writes the ring as an LCM
event log on request, and also when the loop's process dies.
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
from deploy.messages.lcm_link import CHANNELS, MESSAGE_SIZES
from solo_doi.common.child_python import child_environment, module_command
from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason

SLOT_HEADER = struct.Struct("<qii")
"""Header of a slot in the ring: time [us], number of the channel, length."""
SLOT = SLOT_HEADER.size + max(MESSAGE_SIZES.values())
"""Size of a slot [bytes]."""
EVENT_HEADER = struct.Struct(">Iqqii")
"""Header in LCM's event log: mark, number, time [us], lengths of channel and data."""
EVENT_MARK = 0xEDA1DA01
"""First four bytes of an event in LCM's event log."""
CHANNEL_NAMES = tuple(CHANNELS)
SECONDS = 30
"""Time that the ring covers [s]."""
MESSAGES_PER_SECOND = 2100
"""Largest number of messages that the loop records per second, with a margin."""
LOG_FILE = "log.lcm"
CAUSE_FILE = "cause.txt"
WORK_FILE = ".recording"
"""Marker file that exists until the log is written."""
SHARED_MEMORY = Path("/dev/shm")
"""Folder of Linux's shared memory."""


class Ring:
    """Ring buffer of messages in shared memory; new messages replace the oldest."""

    def __init__(self, name: str | None = None, slots: int = SECONDS * MESSAGES_PER_SECOND) -> None:
        """Create a ring of `slots` messages, or open an existing ring by name."""
        # Not `multiprocessing.shared_memory`: it starts another Python process. That process
        # imports from the current directory. It also frees the memory when this process dies,
        # before the writer has read it.
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
        if name is None:  # touch every page now, so that the loop has no page faults
            self._view[:] = bytes(len(self._memory))

    @property
    def name(self) -> str:
        """Name by which another process opens the ring."""
        return self._path.name

    def put(self, channel: str, data: bytes) -> None:
        """Store a message with the current time."""
        start = 8 + self._count % self._slots * SLOT
        header = SLOT_HEADER.pack(time.time_ns() // 1000, CHANNEL_NAMES.index(channel), len(data))
        self._view[start : start + len(header)] = header
        self._view[start + len(header) : start + len(header) + len(data)] = data
        self._count += 1
        self._view[:8] = self._count.to_bytes(
            8, "little"
        )  # last, so that counted messages are complete

    def events(self) -> list[tuple[int, str, bytes]]:
        """Return time [us], channel and bytes of all messages, oldest first."""
        count = int.from_bytes(self._view[:8], "little")
        first = max(0, count - self._slots)
        events = []
        for number in range(first, count):
            start = 8 + number % self._slots * SLOT
            when, channel, length = SLOT_HEADER.unpack_from(self._view, start)
            body = start + SLOT_HEADER.size
            events.append((when, CHANNEL_NAMES[channel], bytes(self._view[body : body + length])))
        # Leave out slots that the loop has overwritten meanwhile, and the one it may be writing.
        whole = int.from_bytes(self._view[:8], "little") + 1 - self._slots
        return events[max(0, whole - first) :]

    def close(self, *, unlink: bool) -> None:
        """Release the memory; with `unlink`, delete it."""
        self._view.release()
        self._memory.close()
        if unlink:
            self._path.unlink(missing_ok=True)


def write_log(events: list[tuple[int, str, bytes]], path: Path) -> None:
    """Write an LCM event log, completely or not at all."""
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
        partial.unlink(missing_ok=True)  # free the space on a full disk
        raise


def read_log(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Read an LCM event log: time [us], channel and bytes; stop where it is cut off.

    Raises:
        SoloError: The file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SoloError(
            f"{path}: cannot be read ({reason(error)}). Expected the log of a deployment."
        ) from error
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
    """The loop's side of the recorder: a ring, and a pipe to the writing process."""

    def __init__(self, folder: Path, kept: tuple[Path, ...] = ()) -> None:
        """Start the writer for logs in `folder`; incidents include copies of the files `kept`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._ring = Ring()
        self._work_file = folder / WORK_FILE
        self.put = self._ring.put
        with contextlib.suppress(
            OSError
        ):  # a full disk; the supervisor then does not wait for a log
            self._work_file.touch()
        # A separate session, so that Ctrl-C does not reach the writer, even while it starts.
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
        """Request that an incident with its cause is written; return at once."""
        assert self._writer.stdin is not None
        try:
            self._writer.stdin.write(what.replace("\n", " ") + "\n")
            self._writer.stdin.flush()
        except OSError:  # the writer is gone; control continues
            pass

    def close(self) -> None:
        """Request that the log is written, and wait for it."""
        assert self._writer.stdin is not None
        with contextlib.suppress(OSError):
            self._writer.stdin.close()
        succeeded = self._writer.wait() == 0
        self._work_file.unlink(missing_ok=True)  # if the writer was killed
        self._ring.close(unlink=not succeeded)


def next_incident(folder: Path) -> Path:
    """Return the folder of the next incident of a deployment."""
    return folder / f"incident-{1 + len(list(folder.glob('incident-*')))}"


def write_incident(
    events: list[tuple[int, str, bytes]], incident: Path, kept: list[Path], cause: str
) -> None:
    """Write an incident's folder (log, cause, copies of files), completely or not at all."""
    with tempfile.TemporaryDirectory(prefix=".incident-", dir=incident.parent) as name:
        partial = Path(name) / "whole"
        partial.mkdir()
        write_log(events, partial / LOG_FILE)
        (partial / CAUSE_FILE).write_text(cause.strip() + "\n")
        for path in kept:
            shutil.copy(path, partial / path.name)
        partial.rename(incident)


@contextlib.contextmanager
def _reporting_errors(path: Path) -> Iterator[None]:
    """Print a failed write to standard error instead of raising it."""
    try:
        yield
    except OSError as error:
        sys.stderr.write(
            f"recorder: {path} could not be written ({error.strerror}); control continues.\n"
        )


def main() -> None:
    """Write an incident per line of standard input, and the log at its end."""
    on_ending(signal.SIG_IGN)  # the log must be written after Ctrl-C too
    name, folder, *kept = sys.argv[1:]
    ring = Ring(name)
    try:
        for line in sys.stdin:
            incident = next_incident(Path(folder))
            with _reporting_errors(incident):
                write_incident(ring.events(), incident, list(map(Path, kept)), line)
        with _reporting_errors(Path(folder) / LOG_FILE):
            write_log(ring.events(), Path(folder) / LOG_FILE)
    finally:
        ring.close(unlink=True)
        (Path(folder) / WORK_FILE).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
