"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch

from solo_doi.common.files import (
    WriteError,
    check_writable,
    reason,
    replacing,
    write_text,
    write_torch,
)
from tests.common.disks import no_file_above, read_only


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    """During the block only a temporary file exists beside it."""
    path = tmp_path / "file.txt"
    with replacing(path) as partial:
        partial.write_text("new")
        assert not path.exists()
        assert partial.parent == path.parent
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_an_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    """A reader in between gets the old content."""
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with replacing(path) as partial:
        partial.write_text("ne")
        assert path.read_text() == "old"
        partial.write_text("new")
    assert path.read_text() == "new"


def test_folders_are_made(tmp_path: Path) -> None:
    """All missing folders are created."""
    write_text(tmp_path / "one" / "two" / "file.txt", "text")
    assert (tmp_path / "one" / "two" / "file.txt").read_text() == "text"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_inside_keeps_only_the_old_file(
    error: type[BaseException], tmp_path: Path
) -> None:
    """The error passes unchanged, because only system errors mean a full disk."""
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def stumble() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            raise error("stop")

    with pytest.raises(error, match="stop"):
        stumble()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """The error is one line with the reason; no partial file is left."""
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with (
        no_file_above(1000),
        pytest.raises(WriteError, match=r"file\.txt: cannot be written \(File too large\)"),
    ):
        write_text(path, "x" * 100_000)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    """The error stays clear even if cleaning up fails."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with (
        read_only(folder),
        pytest.raises(WriteError, match=r"cannot be written \((Read-only|Permission)"),
    ):
        write_text(folder / "file.txt", "text")


def test_a_block_without_a_write_is_an_error(tmp_path: Path) -> None:
    """An error is raised because the file is missing."""
    with pytest.raises(WriteError, match="No such file"), replacing(tmp_path / "file.txt"):
        pass


def test_a_folder_in_the_way_is_an_error(tmp_path: Path) -> None:
    """The folder stays, and no partial file is left."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(WriteError, match=r"taken: cannot be written"):
        write_text(tmp_path / "taken", "text")
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/file"), "No space left on device"),
        (
            OSError("Can't write data (file write failed: time = now, errno = 28, total = 5)"),
            os.strerror(28),
        ),
        (
            OSError(
                27, "Unable to extend file properly, errno = 27, error message = 'x' (failed: ...)"
            ),
            os.strerror(27),
        ),
        (RuntimeError("bad\nsecond line"), "bad"),
        (ValueError(), "ValueError"),
    ],
)
def test_reasons_are_a_few_words(error: Exception, expected: str) -> None:
    """The reason is the system's, one hidden in HDF5's text, a first line, or the type of error."""
    assert reason(error) == expected


def test_any_content_is_saved_as_torch_saves_it(tmp_path: Path) -> None:
    """`write_torch` is `torch.save` with an atomic replacement."""
    content = {"numbers": [1, 2.5], "tensor": torch.arange(3), "none": None}
    write_torch(tmp_path / "any.pt", content)
    loaded = torch.load(tmp_path / "any.pt", weights_only=True)
    assert loaded["numbers"] == [1, 2.5]
    assert loaded["none"] is None
    assert torch.equal(loaded["tensor"], torch.arange(3))


def test_check_writable_leaves_no_file(tmp_path: Path) -> None:
    """The old file stays, and no temporary file remains."""
    path = tmp_path / "file.txt"
    write_text(path, "old")
    check_writable(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_place_that_cannot_be_written_is_refused_before_the_work() -> None:
    """This includes root, which ignores permissions."""
    with pytest.raises(WriteError, match=r"/proc/file.txt: cannot be written"):
        check_writable(Path("/proc/file.txt"))
