"""Memory and disk space of this computer: checks before anything large is made, and reuse."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

from .errors import SoloError

MEMORY_FILE = Path("/proc/meminfo")
"""Linux's report on memory."""
TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
"""Parameters of mallopt, from glibc's malloc.h."""
LARGEST = 2**31 - 1
"""Size from which freed blocks are given back to the system [bytes]."""


def available_memory() -> int:
    """Return the memory that programs can still get [bytes]."""
    for line in MEMORY_FILE.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return 1024 * int(value.split()[0])
    raise SoloError(f"{MEMORY_FILE}: no line MemAvailable. Expected Linux 3.14 or newer.")


def check_memory(needed: float, setting: str, remedy: str) -> None:
    """Refuse a setting that needs more memory than there is; `needed` is a lower bound [bytes].

    Raises:
        SoloError: The message has both numbers and the remedy.
    """
    free = available_memory()
    if needed > free:
        raise SoloError(
            f"{setting}: needs at least {_size(needed)} of memory, but {_size(free)} are free. "
            f"{remedy}"
        )


def check_disk_space(needed: float, folder: Path, setting: str, remedy: str) -> None:
    """Refuse a setting that needs more disk space than there is; a lower bound [bytes].

    Raises:
        SoloError: The message has both numbers and the remedy.
    """
    present = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(present).free
    if needed > free:
        raise SoloError(
            f"{setting}: needs at least {_size(needed)} of disk space, but {_size(free)} are free "
            f"in {folder}. {remedy}"
        )


def keep_memory() -> None:
    """Make glibc's allocator keep large freed blocks; elsewhere, do nothing.

    Reusing freed memory is faster than requesting it from the system again, most of all in virtual
    machines.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, LARGEST)


def _size(count: float) -> str:
    """Return a number of bytes in words."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e6:.0f} MB"
