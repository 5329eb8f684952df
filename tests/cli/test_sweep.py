"""solo-sweep trains a grid of runs and writes one table."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

import pytest
import yaml

from solo_doi.cli.train import train_main
from solo_doi.common import settings
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.sweep import write_tables
from solo_doi.runs.sweep_job import Job
from tests.algorithm.runs import assert_same_run, summary_of
from tests.command import Command

from .solo_train import with_this_project
from .sweeps import SETTINGS, replace_processes, runs, table, variants


def test_a_sweep_trains_in_separate_processes_and_keeps_successes(
    here: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """A variant that fails is reported with its reason; the others are in the table."""
    monkeypatch.setenv("PYTHONPATH", with_this_project())
    path = variants(good={}, bad={"projection": ["linear_velocty"]})
    code, _, errors = sweep("--variants", path, "--seeds", 1, "--eps", 1, "--out", "out")
    out = Path("out")
    assert code == 1
    assert errors.splitlines() == [
        "1/2 out/bad-eps1-seed1: " + (reason := (out / "bad-eps1-seed1.log").read_text().strip()),
        "2/2 out/good-eps1-seed1: done",
        f"solo-sweep: 1 of 2 runs failed; the table lacks them. First: bad-eps1-seed1: {reason}",
    ]
    assert "Did you mean 'linear_velocity'?" in reason
    assert runs(out) == {"good-eps1-seed1"}
    assert not (out / "bad-eps1-seed1").exists()
    assert [row["variant"] for row in table(out)] == ["good"]
    assert "skills 4/4" in (out / "good-eps1-seed1.log").read_text()


def test_tables_agree_with_the_summaries(started: list[list[str]], sweep: Command) -> None:
    """Every run is listed to the last digit, with medians and ranges over seeds."""
    path = variants(doi={}, expert={"objective": "smodice"})
    words = ("--variants", path, "--eps", 1, 3, "--seeds", 1, 2, "--out", "out")
    code, output, _ = sweep(*words)
    assert code == 0
    assert len(started) == 8
    out = Path("out")
    rows = table(out)
    assert len(rows) == 8
    for row in rows:
        summary = summary_of(out / f"{row['variant']}-eps{float(row['eps']):g}-seed{row['seed']}")
        assert float(row["phi min"]) == min(summary["phi"])
        assert float(row["phi max"]) == max(summary["phi"])
        assert float(row["effective share"]) == summary["effective_share_mean"]
        if row["variant"] == "expert":
            assert [row[name] for name in ("sigma min", "sigma max", "l1", "skills named")] == [
                ""
            ] * 4
        else:
            assert float(row["sigma min"]) == min(summary["sigma"])
            assert float(row["sigma max"]) == max(summary["sigma"])
            assert float(row["l1"]) == summary["ratio_l1"]
            assert float(row["l1 per trajectory"]) == summary["ratio_l1_trajectory"]
            assert float(row["skills named"]) == summary["held_out_accuracy"]

    text = (out / "table.md").read_text()
    assert output == f"{text}\n{out / 'table.md'}\nnext: solo-eval --compare out/*/\n"
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert [line[:3] for line in lines[2:]] == [
        ["doi", "1", "2"], ["doi", "3", "2"], ["expert", "1", "2"], ["expert", "3", "2"],
    ]  # fmt: skip
    phi = [float(row["phi max"]) for row in rows if (row["variant"], row["eps"]) == ("doi", "3.0")]
    expected = f"{statistics.median(phi):.2f} ({min(phi):.2f} to {max(phi):.2f})"
    assert dict(zip(lines[0], lines[3], strict=True))["phi max"] == expected


def test_runs_equal_those_of_solo_train(
    started: list[list[str]], task: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """The runs use the given data and the variant's settings."""
    data = task / "datasets" / "locomotion"
    words = (
        "--data",
        data / "coverage",
        "--expert",
        data / "demonstrations",
        "--seeds",
        4,
        "--eps",
        1.5,
    )
    assert sweep("--variants", variants(doi={"gamma": 0.9}), *words, "--out", "out")[0] == 0
    run = Path("out/doi-eps1.5-seed4")
    config = settings.read(RunConfig, run / "config.yaml")
    assert (config.data, config.expert) == (data / "coverage", data / "demonstrations")
    assert (config.gamma, config.eps, config.seed) == (0.9, 1.5, 4)
    Path("alone.yaml").write_text(yaml.safe_dump(SETTINGS | {"gamma": 0.9, "eps": 1.5, "seed": 4}))
    monkeypatch.setattr(sys, "argv", ["solo-train", "--config", "alone.yaml", "--out", "alone"])
    with pytest.raises(SystemExit, match=r"^0$"):
        train_main()
    assert_same_run(Path("alone"), run)


def test_if_every_run_fails_the_first_reason_is_reported(
    started: list[list[str]], sweep: Command
) -> None:
    """No table is written, and the next attempt starts the runs again."""
    words = (
        "--variants",
        variants(bad={"projection": ["linear_velocty"]}),
        "--seeds",
        1,
        2,
        "--out",
        "out",
    )
    code, _, errors = sweep(*words)
    assert code == 1
    assert "2 of 2 runs failed" in errors.splitlines()[-1]
    assert "Did you mean 'linear_velocity'?" in errors.splitlines()[-1]
    assert not Path("out/table.md").exists()
    sweep(*words)
    assert len(started) == 4


def test_a_killed_run_is_reported_by_its_exit_code(
    here: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """The last line of its log is not the reason, because the system killed it."""

    def run(words: list[str], *, stdout: TextIO, **_: object) -> subprocess.CompletedProcess[str]:
        stdout.write("skills 3/120\n")
        return subprocess.CompletedProcess(words, -signal.SIGKILL)

    replace_processes(monkeypatch, run)
    code, _, errors = sweep("--seeds", 1, "--out", "out")
    assert code == 1
    assert (
        "default-eps2.7-seed1: ended with exit code -9, see out/default-eps2.7-seed1.log"
        in errors.splitlines()[-1]
    )


def test_an_interrupt_is_one_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """The runs also receive the interrupt and can be continued."""

    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        raise KeyboardInterrupt

    replace_processes(monkeypatch, run)
    code, _, errors = sweep("--seeds", 1, "--out", "out")
    assert (code, errors) == (130, "solo-sweep: stopped. Run the same command again to continue.\n")


def test_numbers_that_are_missing_leave_a_gap(tmp_path: Path) -> None:
    """Without held-out data the accuracy is missing."""
    for seed, accuracy in ((1, None), (2, 0.5)):
        run = tmp_path / f"run{seed}"
        run.mkdir()
        summary = {
            "phi": [1.0, 2.0],
            "sigma": [0.1, 0.9],
            "effective_share_mean": 0.5,
            "held_out_accuracy": accuracy,
        }
        (run / "summary.json").write_text(json.dumps(summary))
    jobs = [Job("a", {"eps": 2.0, "seed": seed}, tmp_path / f"run{seed}") for seed in (1, 2, 3)]
    write_tables(jobs, tmp_path)
    assert (tmp_path / "table.md").read_text().splitlines()[2] == (
        "| a | 2 | 2 | 1.00 | 2.00 | 0.10 | 0.90 |  |  | 0.50 | 0.50 |"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_sweep_alone_ends_its_runs(
    here: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command, number: signal.Signals
) -> None:
    """The signal reaches this process only, as with `kill`; no run is left behind."""
    program = "import time; print('begun', flush=True); time.sleep(600)"
    monkeypatch.setattr("solo_doi.runs.sweep_processes.TRAIN", program)
    log = Path("out") / "default-eps2.7-seed1.log"

    def interrupt() -> None:
        while not log.is_file() or "begun" not in log.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code, _, errors = sweep("--seeds", 1, 2, "--out", "out")
    thread.join()
    assert (code, errors) == (130, "solo-sweep: stopped. Run the same command again to continue.\n")
    assert not (Path("out") / "default-eps2.7-seed2.log").exists()
