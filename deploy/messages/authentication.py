"""Authentication of messages with a shared secret key: keyed BLAKE2 codes, key files."""

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
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Kernel file with an identifier of the current boot."""


class Authority:
    """Signs messages and checks their authentication codes, the last bytes of each message."""

    def __init__(self, key: bytes, boot: bytes = b"") -> None:
        """Use a secret key; codes made in another `boot` of the host are refused."""
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


def read_key(path: Path) -> Authority:
    """Read a key; refuse a file that other users can read, or one of another length."""
    try:
        rights = stat.S_IMODE(path.stat().st_mode)
        key = path.read_bytes()
    except OSError as error:
        raise SoloError(
            f"{path}: cannot be read ({error.strerror}). Draw a key with: solo-deploy keygen"
        ) from error
    if rights & 0o077:
        raise SoloError(
            f"{path}: others may read it (rights {rights:04o}). Keep it secret: chmod 600 {path}"
        )
    if len(key) != KEY_SIZE:
        raise SoloError(
            f"{path}: holds {len(key)} bytes, a key has {KEY_SIZE}. "
            "Draw one with: solo-deploy keygen"
        )
    return Authority(key, boot_of_this_host())


def boot_of_this_host() -> bytes:
    """Return the identifier of the current boot.

    It is part of every code: the monotonic clock restarts at boot, so that messages recorded
    before would look fresh again.
    """
    return UUID(BOOT_ID.read_text().strip()).bytes
