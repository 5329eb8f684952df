"""Members of zip archives, read with bounded sizes. Nothing is unpacked to disk."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from solo_doi.common.files import reason

from .mlp_policy import PolicyFileError

MAX_BYTES = 64_000_000
"""Largest size of an archive's members together, and of one member [bytes]."""
MAX_MEMBERS = 1000
"""Largest number of members of an archive."""


def read_members(path: Path, expected: str) -> dict[str, bytes]:
    """Return all members of an archive, by name.

    Raises:
        PolicyFileError: The file is no archive, or a larger one than a policy needs.
    """
    if not path.is_file():
        found = "a directory" if path.is_dir() else "no such file"
        raise PolicyFileError(f"{path}: {found}. Expected {expected}.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(path, archive, expected)
            return {entry.filename: archive.read(entry) for entry in archive.infolist()}
    except PolicyFileError:
        raise
    except Exception as error:  # damaged bytes raise BadZipFile, zlib.error, struct.error and more
        raise PolicyFileError(
            f"{path}: not a readable archive ({reason(error)}). Expected {expected}."
        ) from error


def check_inner(path: Path, name: str, content: bytes, expected: str) -> None:
    """Refuse a member that is not an archive of bounded size itself."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_sizes(path, archive, expected)
    except zipfile.BadZipFile as error:
        raise PolicyFileError(
            f"{path}: {name} is not a file of today's torch.save. Expected {expected}."
        ) from error


def _check_sizes(path: Path, archive: zipfile.ZipFile, expected: str) -> None:
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    if size > MAX_BYTES or len(entries) > MAX_MEMBERS:
        raise PolicyFileError(
            f"{path}: {len(entries)} members of {size / 1e6:.0f} MB, a policy has at most "
            f"{MAX_MEMBERS} of {MAX_BYTES / 1e6:.0f} MB together. Expected {expected}."
        )
