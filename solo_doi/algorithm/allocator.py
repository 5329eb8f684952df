"""Keeps freed memory for reuse: asking the system for it again costs more than the arithmetic it is for."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
LARGEST = 2**31 - 1


def keep_memory() -> None:
    """Tell glibc's allocator to keep large blocks; elsewhere, do nothing."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, LARGEST)
