"""Disks that are full or cannot be written to."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Limit the size of files of this process [bytes], like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a disk of this size on a folder; skip the test where that is not allowed."""
    if not _mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)):
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only. Root ignores permissions, so tests that run as root use a mount."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        try:
            yield
        finally:
            folder.chmod(0o755)
        return
    if not _mounted("--bind", str(folder), str(folder)):
        pytest.skip("root can write everywhere, and mounting is not allowed")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _mounted(*arguments: str) -> bool:
    try:
        return not subprocess.run(
            ["mount", *arguments], capture_output=True, check=False
        ).returncode
    except OSError:  # the program does not exist
        return False
