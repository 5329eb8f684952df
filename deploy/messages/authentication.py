"""Authentication of messages: keyed BLAKE2 codes, key files, and one key per run.

Every run signs with its own key. A message that was recorded in an earlier run has a wrong code,
even if the user's key is the same.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from uuid import UUID

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason

MAC_SIZE = 16
"""Length of a message authentication code [bytes]."""
KEY_SIZE = 32
"""Length of a key [bytes]."""
RUN_FILE = "run-id"
"""File in the folder of a deployment with the number that its key is derived from; not secret."""
RUN_SIZE = 32
"""Length of a run's number [bytes]."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Kernel file with an identifier of the current boot."""


class Authority:
    """Signs messages and checks their authentication codes, the last bytes of each message."""

    def __init__(self, key: bytes, boot: bytes = b"", run: bytes = b"") -> None:
        """Use a secret key; codes made in another `boot` of the host or `run` are refused."""
        if run:
            derived = hashlib.blake2b(run, key=key, digest_size=KEY_SIZE, person=b"solo-doi run")
            key = derived.digest()
        self._start = hashlib.blake2b(key=key, digest_size=MAC_SIZE, person=boot)

    def sign(self, data: bytes) -> bytes:
        """Return the message with its authentication code as the last bytes."""
        body = data[:-MAC_SIZE]
        return body + self._code(body)

    def genuine(self, data: bytes) -> bool:
        """Return True if the code of a message is correct."""
        return hmac.compare_digest(self._code(data[:-MAC_SIZE]), data[-MAC_SIZE:])

    def _code(self, body: bytes) -> bytes:
        code = self._start.copy()
        code.update(body)
        return code.digest()


def write_key(path: Path) -> None:
    """Write a new key to a file that only this user can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_SIZE))
    except FileExistsError:
        raise SoloError(f"{path}: exists already. Remove it to draw another key.") from None
    except OSError as error:
        raise SoloError(
            f"{path}: cannot be written ({reason(error)}). Choose another file."
        ) from error


def write_run_number(folder: Path) -> None:
    """Draw the number of a run and write it to the run's folder."""
    (folder / RUN_FILE).write_bytes(secrets.token_bytes(RUN_SIZE))


def run_authority(folder: Path, key_file: Path, key: Path | None) -> Authority:
    """Return the authority of a run, for every process of it.

    `key` is the user's key file; the run's key is then derived from it and the run's number in
    `folder`. If None, the run has its own key, in `key_file`.
    """
    if key is None:
        return read_key(key_file)
    try:
        number = (folder / RUN_FILE).read_bytes()
    except OSError as error:
        raise SoloError(
            f"{folder / RUN_FILE}: cannot be read ({error.strerror}). Processes of a run are "
            "started by solo-deploy."
        ) from error
    if len(number) != RUN_SIZE:
        raise SoloError(
            f"{folder / RUN_FILE}: holds {len(number)} bytes, expected {RUN_SIZE}. Start "
            "solo-deploy again."
        )
    return read_key(key, number)


def read_key(path: Path, run: bytes = b"") -> Authority:
    """Read a key; refuse a file of another user, one that others can read, or of another length.

    With the number of a `run`, the authority signs with a key that is valid for this run only.
    """
    try:
        # A pipe in place of the file must not wait for a writer.
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            key = file.read(KEY_SIZE) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        raise SoloError(
            f"{path}: cannot be read ({error.strerror}). Draw a key with: solo-deploy keygen"
        ) from error
    rights = stat.S_IMODE(status.st_mode)
    if rights & 0o077:
        raise SoloError(
            f"{path}: others may read it (rights {rights:04o}). Keep it secret: chmod 600 {path}"
        )
    if status.st_uid != os.geteuid():
        raise SoloError(
            f"{path}: belongs to user {status.st_uid}, who knows it; you are user "
            f"{os.geteuid()}. Draw a key of your own with: solo-deploy keygen"
        )
    if len(key) != KEY_SIZE or status.st_size != KEY_SIZE:
        raise SoloError(
            f"{path}: holds {status.st_size} bytes, a key has {KEY_SIZE}. "
            "Draw one with: solo-deploy keygen"
        )
    return Authority(key, boot_of_this_host(), run)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def boot_of_this_host() -> bytes:
    """Return the identifier of the current boot.

    It is part of every code: the monotonic clock restarts at boot, so that messages recorded
    before would look fresh again.
    """
    return UUID(BOOT_ID.read_text().strip()).bytes
