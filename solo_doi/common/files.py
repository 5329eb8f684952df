"""Files that are written completely or not at all."""

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
    """A file that could not be written; what was there before is untouched."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a place to write to that becomes `path` if the block ends well: a reader sees the old or the new file."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        with partial.open("rb+") as stream:
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({reason(error)}). What was there before is kept; free space or choose "
            "another place, then run the same command again to continue."
        ) from error
    finally:
        with suppress(
            OSError
        ):  # it is gone after the replacement, and was never there in a read-only folder
            partial.unlink()


def check_writable(path: Path) -> None:
    """Refuse a path that could not be written, before work is done whose result would be lost.

    Raises:
        WriteError: Its folder cannot be made, or nothing can be written there.
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
    """Write a text file, whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text)


def write_hdf5(
    path: Path,
    arrays: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
    **options: object,
) -> None:
    """Write named arrays as one HDF5 file, whole or not at all."""
    import h5py  # here, so that programs without it can write other files

    content = io.BytesIO()  # HDF5 may crash when it meets a full disk itself
    with h5py.File(content, "w", **options) as file:
        file.attrs.update(attributes or {})
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    with replacing(path) as partial:
        partial.write_bytes(content.getbuffer())


def write_torch(path: Path, content: object) -> None:
    """Like `torch.save`, whole or not at all."""
    import torch  # here, so that programs without it can write other files

    buffer = io.BytesIO()  # on a full disk torch.save raises errors of its own, which do not say so
    torch.save(content, buffer)
    with replacing(path) as partial:
        partial.write_bytes(buffer.getbuffer())


def reason(error: Exception) -> str:
    """Say in a few words why a file was refused; HDF5 hides the system's reason in a paragraph of its own."""
    hidden = re.search(r"errno = (\d+)", str(error))
    if isinstance(error, OSError) and error.strerror and not hidden:
        return error.strerror
    if hidden:
        return os.strerror(int(hidden[1]))
    return (str(error) or type(error).__name__).splitlines()[0]
