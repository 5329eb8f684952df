"""SHA-256 hash of a bundle file, stored inside the file itself."""

from __future__ import annotations

from .contract import digest

FILE_HASH = "solo12.file_sha256"
"""Name of the metadata entry that holds the hash."""
NO_HASH = b"0" * 64
"""Content of the entry while the hash is computed."""


def seal(content: bytes) -> bytes:
    """Return the file with its hash in the entry that is reserved for it."""
    start = _hash_start(content)
    if start is None:
        raise ValueError(f"no {FILE_HASH} with {len(NO_HASH)} zeros in the file")
    end = start + len(NO_HASH)
    blank = content[:start] + NO_HASH + content[end:]
    return content[:start] + digest(blank).encode() + content[end:]


def is_sealed(content: bytes) -> bool:
    """Return True if the file is unchanged since it was sealed: weights, contract and vectors."""
    return _hash_start(content) is not None and seal(content) == content


def _hash_start(content: bytes) -> int | None:
    # A protocol buffer stores an entry as key, tag of the value, length of the value, value.
    marker = FILE_HASH.encode() + bytes([0x12, len(NO_HASH)])
    start = content.rfind(marker)
    if start < 0:
        return None
    return start + len(marker)
