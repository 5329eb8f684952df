"""Metrics of a run: consistent JSON lines and TensorBoard events, even after a kill."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from solo_doi.common.errors import SoloError
from solo_doi.common.event_file import EventFile
from solo_doi.common.files import WriteError
from solo_doi.common.metrics_log import METRICS_FILE, MetricsLog, read_metrics
from tests.common.disks import no_file_above


def write(run: Path, first: int, numbers: list[int], value: float = 0.0) -> None:
    """Continue after step `first` and record some steps, each with its number and a value."""
    log = MetricsLog(run, "outer", first)
    for number in numbers:
        log.write(number, {"loss/value": number / 2, "phi/0": value})
    log.close()


def lines(run: Path) -> list[dict[str, float]]:
    """Return the metrics of the JSON lines."""
    return [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]


def events(run: Path, name: str) -> list[tuple[int, float]]:
    """Return the metrics of the TensorBoard events."""
    found = EventAccumulator(str(run / "tensorboard"))
    found.Reload()
    return [(event.step, event.value) for event in found.Scalars(name)]


def test_every_step_is_a_line_and_an_event(tmp_path: Path) -> None:
    """The folder is created."""
    run = tmp_path / "run"
    write(run, 0, [1, 2])
    assert lines(run) == [
        {"outer": 1, "loss/value": 0.5, "phi/0": 0.0},
        {"outer": 2, "loss/value": 1.0, "phi/0": 0.0},
    ]
    assert events(run, "loss/value") == [(1, 0.5), (2, 1.0)]


def test_a_line_is_there_before_the_log_is_closed(tmp_path: Path) -> None:
    """A killed run loses no finished step."""
    log = MetricsLog(tmp_path, "outer", 0)
    log.write(1, {"phi/0": 0.25})
    assert lines(tmp_path) == [{"outer": 1, "phi/0": 0.25}]
    log.close()


def test_a_continued_run_drops_repeated_steps(tmp_path: Path) -> None:
    """The run is saved at 2, killed after 4 and continued.

    Steps 3 and 4 appear once, with new values.
    """
    write(tmp_path, 0, [1, 2, 3, 4], value=1.0)
    write(tmp_path, 2, [3, 4, 5], value=2.0)
    expected = [(1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0), (5, 2.0)]
    assert [(line["outer"], line["phi/0"]) for line in lines(tmp_path)] == expected
    assert events(tmp_path, "phi/0") == expected


@pytest.mark.parametrize("rest", ['{"outer": 3, "lo', '{"outer": 3}'])
def test_a_line_that_a_kill_cut_is_dropped(rest: str, tmp_path: Path) -> None:
    """A line without a line break may be cut, even if it looks complete."""
    write(tmp_path, 0, [1, 2])
    with (tmp_path / METRICS_FILE).open("a") as file:
        file.write(rest)
    write(tmp_path, 3, [4])
    assert [line["outer"] for line in lines(tmp_path)] == [1, 2, 4]


def test_a_restarted_run_drops_old_metrics(tmp_path: Path) -> None:
    """Without a saved state, all steps are repeated."""
    write(tmp_path, 0, [1, 2, 3], value=1.0)
    write(tmp_path, 0, [1], value=2.0)
    assert [(line["outer"], line["phi/0"]) for line in lines(tmp_path)] == [(1, 2.0)]


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    """Earlier lines stay."""
    log = MetricsLog(tmp_path, "outer", 0)
    log.write(1, {"phi/0": 0.5})
    with (
        no_file_above(100),
        pytest.raises(WriteError, match=r"metrics.* cannot be written \(File too large\)"),
    ):
        log.write(2, {f"phi/{skill}": 0.5 for skill in range(1000)})
    log.close()
    write(tmp_path, 1, [2])  # the partial line does not disturb the continued run
    assert [line["outer"] for line in lines(tmp_path)] == [1, 2]
    assert events(tmp_path, "phi/0") == [(1, 0.5), (2, 0.0)]


def test_a_disk_that_events_find_full_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of the files may be the first to fail."""
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    log = MetricsLog(tmp_path, "outer", 0)
    monkeypatch.setattr(EventFile, "write", full)
    with pytest.raises(WriteError, match=r"cannot be written \(No space left on device\)"):
        log.write(1, {"phi/0": 0.5})


INTERRUPTED = """
import random, signal, sys
from pathlib import Path
from solo_doi.common.metrics_log import MetricsLog

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
random.seed(0)
for number in range(100):
    log = MetricsLog(Path(sys.argv[1], str(number)), "outer", 0)
    numbers = {f"phi/{skill}": 1.0 for skill in range(20)}
    log.write(1, numbers)
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
        for step in range(2, 10_000):
            log.write(step, numbers)
    except KeyboardInterrupt:
        log.close()
"""


def test_an_interrupt_at_any_moment_does_not_hang(tmp_path: Path) -> None:
    """Ctrl-C interrupts the writing a hundred times; every log is closed and can be read."""
    subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        check=True,
        timeout=120,
        capture_output=True,
    )
    for number in range(0, 100, 10):
        steps = [step for step, _ in events(tmp_path / str(number), "phi/19")]
        assert steps == list(range(1, len(steps) + 1))


def test_metrics_are_read_except_for_a_cut_line(tmp_path: Path) -> None:
    """The result is empty if the file is missing."""
    assert read_metrics(tmp_path) == []
    write(tmp_path, 0, [1, 2])
    whole = lines(tmp_path)
    with (tmp_path / METRICS_FILE).open("a") as file:
        file.write('{"outer": 3, "loss/va')
    assert read_metrics(tmp_path) == whole


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"outer": 2, "loss', r"metrics\.jsonl, line 2: not JSON"),
        (b"", "line 2: not JSON"),
        (b"[1, 2]", r"line 2: expected an object with a number 'outer', found '\[1, 2\]'"),
        (b'{"step": 2}', "line 2: expected an object with a number 'outer'"),
        (b'{"outer": null}', "line 2: expected an object with a number 'outer'"),
        (b"\xff\xfe", r"metrics\.jsonl: cannot be read .* Expected a JSON object per line"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, found: str) -> None:
    """Both the reader and a run that would continue the file name the line."""
    (tmp_path / METRICS_FILE).write_bytes(b'{"outer": 1}\n' + line + b'\n{"outer": 3}\n')
    with pytest.raises(SoloError, match=found):
        read_metrics(tmp_path)
    with pytest.raises(SoloError, match=found):
        MetricsLog(tmp_path, "outer", 3)
