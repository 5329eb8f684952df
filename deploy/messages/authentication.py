"""Who may move the robot: messages that do carry a code that only holders of a secret can make."""

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

MAC_SIZE, KEY_SIZE = 16, 32
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Authority:
    """Makes and checks codes; they stand in the last bytes of a message."""

    def __init__(self, key: bytes, boot: bytes = b"") -> None:
        """Hold the secret; codes of another `boot` are not genuine."""
        self._start = hashlib.blake2b(key=key, digest_size=MAC_SIZE, person=boot)

    def sign(self, data: bytes) -> bytes:
        """Return a message with its code in place."""
        body = data[:-MAC_SIZE]
        return body + self._code(body)

    def genuine(self, data: bytes) -> bool:
        """Whether a message has the code that belongs to it."""
        return hmac.compare_digest(self._code(data[:-MAC_SIZE]), data[-MAC_SIZE:])

    def _code(self, body: bytes) -> bytes:
        code = self._start.copy()
        code.update(body)
        return code.digest()


def write_key(path: Path) -> None:
    """Draw a secret that only this user can read."""
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
    """Read a secret; refuse one that others can read or that is none."""
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
            f"{path}: holds {len(key)} bytes, a key has {KEY_SIZE}. Draw one with: solo-deploy keygen"
        )
    return Authority(key, boot_of_this_host())


def boot_of_this_host() -> bytes:
    """What tells this start of the host from others: its clock begins anew, and old messages would be fresh again."""
    return UUID(BOOT_ID.read_text().strip()).bytes
