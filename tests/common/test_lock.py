"""The lock of a run directory: held by one process, released at any end of that process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from solo_doi.common.errors import SoloError
from solo_doi.common.files import WriteError
from solo_doi.common.lock import LOCK_FILE, InUseError, check_absent, exclusive, new_directory
from tests.common.disks import read_only

HOLDER = """
import sys
from pathlib import Path
from solo_doi.common.lock import exclusive
with exclusive(Path(sys.argv[1]), ""):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_holder_is_refused_until_the_first_releases(tmp_path: Path) -> None:
    """Two holders in one process are refused as well."""
    refused = pytest.raises(InUseError, match=r"another process is writing to it\. Wait\.$")
    with exclusive(tmp_path, "Wait."), refused, exclusive(tmp_path, "Wait."):
        pass
    with exclusive(tmp_path, "Wait."):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    """SIGKILL allows no clean-up; the operating system releases the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InUseError), exclusive(tmp_path, ""):
            pass
        holder.kill()
    with exclusive(tmp_path, ""):
        pass


def test_a_new_directory_must_not_exist(tmp_path: Path) -> None:
    """The check is made before the work and when the directory is created."""
    run = tmp_path / "some" / "run"
    check_absent(run)
    with new_directory(run):
        (run / "config.yaml").touch()
    with pytest.raises(SoloError, match=r"exists already\. .* --resume"):
        check_absent(run)
    with pytest.raises(SoloError, match="exists already"), new_directory(run):
        pass
    assert (run / "config.yaml").is_file()


def test_a_new_directory_without_files_is_removed_after_an_error(tmp_path: Path) -> None:
    """A directory with a file stays."""
    with pytest.raises(KeyError), new_directory(tmp_path / "empty"):
        raise KeyError
    assert not (tmp_path / "empty").exists()
    with pytest.raises(NotADirectoryError), new_directory(tmp_path / "used"):
        Path(shutil.copy(__file__, tmp_path / "used" / "file"), "below").touch()
    assert (tmp_path / "used" / "file").exists()


def test_a_read_only_directory_is_one_line(tmp_path: Path) -> None:
    """This holds for new and existing directories."""
    with read_only(tmp_path):
        with pytest.raises(WriteError, match="cannot be written"), new_directory(tmp_path / "run"):
            pass
        with pytest.raises(WriteError, match="cannot be written"), exclusive(tmp_path, ""):
            pass
