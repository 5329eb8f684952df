"""solo-train on disks that are full or read-only."""

from __future__ import annotations

from pathlib import Path

from tests.algorithm.runs import FLAGS, assert_same_run
from tests.common.disks import no_file_above, read_only

from .solo_train import SoloTrain


def test_a_full_disk_ends_the_run_with_one_line_and_it_continues(command: SoloTrain) -> None:
    """Each of several files is the one that no longer fits."""
    unbroken = command.run(out="unbroken")
    for size, name in ((4_000, "expert.pt"), (12_000, "state.pt")):
        with no_file_above(size):
            code, _, errors = command(*FLAGS, "--out", f"full-{size}")
        assert code == 1
        assert "Traceback" not in errors
        assert (
            f"solo-train: full-{size}/{name}: cannot be written (File too large)."
            in errors.splitlines()[-1]
        )
        assert command("--resume", f"full-{size}")[0] == 0
        assert_same_run(unbroken, Path(f"full-{size}"))


def test_metrics_that_no_longer_fit_end_the_run_with_one_line(command: SoloTrain) -> None:
    """Only the metrics grow during the run."""
    flags = (*FLAGS, "--outer", "40", "--save-every", "100", "--checkpoints", "0", "--out", "run")
    with no_file_above(8_000):
        code, _, errors = command(*flags)
    assert code == 1
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "solo-train: run: metrics cannot be written (File too large). Free space, then continue "
        "the run with --resume."
    )


def test_a_read_only_place_is_one_line(command: SoloTrain) -> None:
    """The line contains the reason of the operating system."""
    Path("shelf").mkdir()
    with read_only(Path("shelf").resolve()):
        code, _, errors = command(*FLAGS, "--out", "shelf/run")
    assert code == 1
    assert errors.startswith("solo-train: shelf/run: cannot be written (")
    assert errors.count("\n") == 1
    assert list(Path("shelf").iterdir()) == []
