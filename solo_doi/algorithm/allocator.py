"""Memory allocator settings. Reusing freed memory is faster than requesting it from the system."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
"""Parameters of mallopt, from glibc's malloc.h."""
LARGEST = 2**31 - 1


def keep_memory() -> None:
    """Make glibc's allocator keep large freed blocks; elsewhere, do nothing."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, LARGEST)
