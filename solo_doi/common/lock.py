"""Exclusive use of a run directory by one process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import SoloError
from .files import WriteError, reason

LOCK_FILE = ".lock"
"""File in a directory on which its writer holds the lock; it stays there, empty."""


class InUseError(SoloError):
    """Another process holds the lock."""


def check_absent(run: Path) -> None:
    """Refuse a place for a new run that exists already."""
    if run.exists():
        raise _exists_error(run)


@contextmanager
def new_directory(run: Path) -> Iterator[None]:
    """Make a directory and hold its lock. Of two processes, one makes it, the other is refused.

    A directory in which nothing was written is removed after an error, so that the same command can
    be run again.

    Raises:
        SoloError: The directory exists already.
        WriteError: It cannot be made.
    """
    try:
        run.mkdir(parents=True)
    except FileExistsError as error:
        raise _exists_error(run) from error
    except OSError as error:
        raise WriteError(
            f"{run}: cannot be written ({reason(error)}). Choose another --out."
        ) from error
    try:
        with exclusive(run, "Choose another --out."):
            yield
    except BaseException:
        _remove_unused(run)
        raise


@contextmanager
def exclusive(folder: Path, remedy: str) -> Iterator[None]:
    """Hold the lock of a directory, or refuse at once if another process holds it.

    The directory is made if it does not exist.
    The system releases the lock when the process ends, also after SIGKILL: no stale lock remains.

    Raises:
        InUseError: Another process holds the lock. `remedy` is the last sentence of its message.
        WriteError: The lock file cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Opened for writing, because NFS refuses an exclusive lock on a read-only file.
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise WriteError(
            f"{folder}: cannot be written ({reason(error)}). Choose another place."
        ) from error
    try:
        if not try_lock(descriptor):
            raise InUseError(f"{folder}: another process is writing to it. {remedy}")
        yield
    finally:
        os.close(descriptor)


def _exists_error(run: Path) -> SoloError:
    return SoloError(
        f"{run}: exists already. Choose another --out, or continue it with --resume {run}."
    )


def _remove_unused(folder: Path) -> None:
    """Remove a directory that has no file but the lock."""
    with suppress(OSError):
        if {path.name for path in folder.iterdir()} <= {LOCK_FILE}:
            (folder / LOCK_FILE).unlink(missing_ok=True)
            folder.rmdir()


def try_lock(descriptor: int) -> bool:
    """Take the lock without waiting; return False if another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems do not support locks. Continue without one.
        return True
    return True
