"""Refusal of what cannot fit into memory or onto the disk, and reuse of memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from solo_doi.common import memory
from solo_doi.common.errors import SoloError
from solo_doi.common.memory import available_memory, check_disk_space, check_memory


@pytest.fixture
def two_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal:  9000000 kB\nMemAvailable:  2000000 kB\n")
    monkeypatch.setattr(memory, "MEMORY_FILE", path)


@pytest.mark.usefixtures("two_gigabytes")
def test_free_memory_is_read_and_compared() -> None:
    assert available_memory() == 2_048_000_000
    check_memory(2_048_000_000, "--width 7", "Choose less.")
    with pytest.raises(SoloError) as error:
        check_memory(3e12, "--width 7", "Choose less.")
    assert str(error.value) == (
        "--width 7: needs at least 3 TB of memory, but 2.05 GB are free. Choose less."
    )


def test_a_system_without_the_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MEMORY_FILE", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    with pytest.raises(SoloError, match="no line MemAvailable"):
        available_memory()


def test_disk_space_is_that_of_the_nearest_folder(tmp_path: Path) -> None:
    """The folder itself need not exist yet."""
    check_disk_space(1e6, tmp_path / "a" / "b", "--scale 1", "Choose less.")
    with pytest.raises(SoloError, match=r"needs at least 1e\+06 TB of disk space, but .* are free"):
        check_disk_space(1e18, tmp_path / "a" / "b", "--scale 1", "Choose less.")
    assert not (tmp_path / "a").exists()


def test_small_sizes_are_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    with pytest.raises(SoloError, match="at least 5 MB of memory, but 1 MB are free"):
        check_memory(5e6, "it", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is glibc's")
def test_kept_memory_is_used_again_without_page_faults() -> None:
    """A block of 64 MB has 32 huge or 16384 small pages, which are else requested again."""
    program = (
        "import resource, sys\n"
        "from solo_doi.common.memory import keep_memory\n"
        "sys.argv[1] == 'kept' and keep_memory()\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    bytearray(2**26).replace(b'a', b'b')\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "faults()\n"
        "print(faults())\n"
    )
    found = {}
    for mode in ("kept", "given back"):
        done = subprocess.run(
            [sys.executable, "-c", program, mode], capture_output=True, text=True, check=True
        )
        found[mode] = int(done.stdout)
    assert 4 * found["kept"] < found["given back"]
