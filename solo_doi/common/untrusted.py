"""Files of strangers: bounded sizes, bare names, no links, and HDF5 without outside storage."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SoloError
from .files import reason
from .memory import available_memory

if TYPE_CHECKING:
    import h5py

LARGEST_TEXT = 64_000_000
"""Largest text file that is read at once [bytes]; manifests and summaries have less than 1 MB."""
LONGEST_NAME = 255
"""Longest file name of Linux [bytes]."""
MOST_OBJECTS = 1_000_000
"""Largest number of groups and arrays in an HDF5 file; Minari has some per episode."""


class UntrustedFileError(SoloError):
    """A file that could harm this computer, or that is too large to be read."""


def check_bare_name(name: object, place: Path) -> str:
    """Return a file name that a description gives; `place` is the description.

    Raises:
        UntrustedFileError: It is no bare file name, such as a path into another folder.
    """
    if (
        not isinstance(name, str)
        or name in ("", ".", "..")
        or any(letter in "/\\" or not letter.isprintable() for letter in name)
        or len(os.fsencode(name)) > LONGEST_NAME
    ):
        shown = repr(name)[:80]
        raise UntrustedFileError(
            f"{place}: names the file {shown}. Expected a bare file name in the same folder. Do "
            "not use files of this origin."
        )
    return name


def check_plain_file(path: Path) -> None:
    """Refuse a file that is a link, a device or a pipe; a missing file passes.

    Raises:
        UntrustedFileError: The file is not a plain file.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:  # reported by the reader
        return
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "not a plain file"
        raise UntrustedFileError(
            f"{path}: is {kind}. Expected a plain file; copy the file itself to this place."
        )


def check_no_links(folder: Path) -> None:
    """Refuse a folder with links inside: what is written to such a name changes another file.

    The folder itself may be reached by a link.

    Raises:
        UntrustedFileError: The message has the first link.
    """
    count = 0
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            count += 1
            if (Path(place) / name).is_symlink():
                raise UntrustedFileError(
                    f"{Path(place) / name}: is a link. A run may not have links inside: copy the "
                    "file itself to this place."
                )
        if count > MOST_OBJECTS:
            raise UntrustedFileError(f"{folder}: more than {MOST_OBJECTS} files and folders.")


def read_bounded(path: Path, largest: int = LARGEST_TEXT) -> bytes:
    """Read a whole file of at most `largest` bytes.

    Raises:
        UntrustedFileError: The file is larger.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise UntrustedFileError(
            f"{path}: larger than {largest / 1e6:.0f} MB, the most that such a file may have."
        )
    return content


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open an HDF5 file of any origin for reading, if all its content lies in the file itself.

    Raises:
        UntrustedFileError: It names other files, or its arrays do not fit into memory.
        OSError: It cannot be read, or is damaged.
    """
    import h5py  # optional: programs without it read other files

    with h5py.File(path, "r") as file:
        try:
            arrays = _arrays_inside(path, file)
        except RuntimeError as error:  # of h5py, for damaged bytes
            raise OSError(reason(error)) from error
        size = sum(array.size * array.dtype.itemsize for array in arrays if not _is_mappable(array))
        free = available_memory()
        if size > free:
            raise UntrustedFileError(
                f"{path}: its arrays need {size / 1e9:.1f} GB of memory, but {free / 1e9:.1f} GB "
                "are free."
            )
        yield file


def _arrays_inside(path: Path, file: h5py.File) -> list[h5py.Dataset]:
    """Return all arrays of a file; follow hard links only, and each object once."""
    import h5py

    found: list[h5py.Dataset] = []
    seen: set[int] = set()
    waiting: list[h5py.Group] = [file]
    while waiting:
        group = waiting.pop()
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise _outside(path, f"{group.name}/{name}", "is a link")
            item = group[name]
            address = int(h5py.h5o.get_info(item.id).addr)
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > MOST_OBJECTS:
                raise UntrustedFileError(f"{path}: more than {MOST_OBJECTS} arrays and groups.")
            if isinstance(item, h5py.Group):
                waiting.append(item)
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise _outside(path, item.name, "keeps its numbers in other files")
                found.append(item)
    return found


def _is_mappable(array: h5py.Dataset) -> bool:
    """Return True if the numbers lie in the file as they are: reading them allocates nothing."""
    return array.chunks is None and array.id.get_offset() is not None


def _outside(path: Path, name: str, what: str) -> UntrustedFileError:
    return UntrustedFileError(
        f"{path}: {name} {what}. Expected all data inside the file. Do not use files of this "
        "origin."
    )
