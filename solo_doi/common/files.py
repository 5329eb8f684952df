"""Atomic writing of files: complete or not at all."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import SoloError


class WriteError(SoloError):
    """A file that could not be written. The old file, if there is one, is unchanged."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` if the block succeeds.

    Readers see the old or the new file.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({reason(error)}). The old file, if any, is kept. "
            "Free space or choose another place, then run the same command again to continue."
        ) from error
    finally:
        # It is gone after the replacement, and never existed in a read-only folder.
        with suppress(OSError):
            partial.unlink()


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before the work on its content starts.

    Raises:
        WriteError: The folder cannot be made, or no file can be written in it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({reason(error)}). Choose another place."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as partial:
        partial.write_text(text)


def write_hdf5(
    path: Path,
    arrays: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
    **options: object,
) -> None:
    """Write named arrays as one HDF5 file atomically."""
    import h5py  # optional: programs without it write other files

    content = io.BytesIO()  # HDF5 may crash on a full disk
    with h5py.File(content, "w", **options) as file:
        file.attrs.update(attributes or {})
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    with replacing(path) as partial:
        partial.write_bytes(content.getbuffer())


def write_torch(path: Path, content: object) -> None:
    """Write like `torch.save`, atomically."""
    import torch  # optional: programs without it write other files

    buffer = io.BytesIO()  # on a full disk, errors of torch.save do not name the cause
    torch.save(content, buffer)
    with replacing(path) as partial:
        partial.write_bytes(buffer.getbuffer())


def reason(error: Exception) -> str:
    """Return a short reason why a file was refused."""
    # HDF5 reports the system's error number inside a long text.
    hidden = re.search(r"errno = (\d+)", str(error))
    if isinstance(error, OSError) and error.strerror and not hidden:
        return error.strerror
    if hidden:
        return os.strerror(int(hidden[1]))
    return (str(error) or type(error).__name__).splitlines()[0]
