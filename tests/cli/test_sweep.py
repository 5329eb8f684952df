"""solo-sweep: a grid of runs, one table, and only what is missing is run."""

from __future__ import annotations

import csv
import json
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
import yaml

from solo_doi.algorithm import presets
from solo_doi.cli.sweep import main as sweep_main
from solo_doi.cli.train import train_main
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.common.lock import exclusive
from solo_doi.runs import sweep as sweeping
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.sweep import SweepCommand, grid, write_tables
from solo_doi.runs.sweep_job import Job
from tests.algorithm.runs import assert_same_run, summary_of, tiny
from tests.command import Command

from .solo_train import with_this_project

SETTINGS = {
    name: value for name, value in settings.to_dict(tiny()).items() if name not in ("eps", "seed")
}
"""What makes a run take a fraction of a second, as a variant."""


@pytest.fixture
def started(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Arguments of every run that is started.

    Runs are made in this process, which spares the imports.
    """
    calls: list[list[str]] = []

    def run(words: list[str], *, stdout: TextIO, **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(words[3:])
        code: Any = 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["solo-train", *words[3:]])
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", stdout)
            try:
                train_main()
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(words, code)

    replace_processes(monkeypatch, run)
    return calls


def replace_processes(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Have the sweep, and nothing else, call a function where it would start a process."""
    monkeypatch.setattr(sweeping, "subprocess", SimpleNamespace(run=run, STDOUT=subprocess.STDOUT))


def variants(**changes: dict[str, Any] | None) -> Path:
    """A file of tiny variants, each with something changed."""
    path = Path("variants.yaml")
    path.write_text(
        yaml.safe_dump({name: SETTINGS | (change or {}) for name, change in changes.items()})
    )
    return path


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-sweep."""
    return Command("solo-sweep", sweep_main, monkeypatch, capsys)


def table(out: Path) -> list[dict[str, str]]:
    """Rows of the CSV table."""
    with (out / "table.csv").open() as file:
        return list(csv.DictReader(file))


def runs(out: Path) -> set[str]:
    """Names of finished runs."""
    return {path.parent.name for path in out.glob("*/summary.json")}


# --- The grid ------------------------------------------------------------------------------------


def test_the_grid_has_every_variant_with_every_eps_and_seed(here: Path) -> None:
    """Except an eps that a variant sets itself."""
    path = here / "variants.yaml"
    path.write_text("plain:\nown: {eps: 7, skills: 3}\n")
    jobs = grid(SweepCommand(eps=(0.5, 4.0), seeds=(1, 2), variants=path, out=Path("out")))
    assert [(job.variant, job.settings["eps"], job.settings["seed"]) for job in jobs] == [
        ("plain", 0.5, 1), ("plain", 0.5, 2), ("plain", 4.0, 1), ("plain", 4.0, 2), ("own", 7.0,
        1), ("own", 7.0, 2),
    ]  # fmt: skip
    assert jobs[0].run == Path("out/plain-eps0.5-seed1")
    assert jobs[-1].settings == {"eps": 7.0, "skills": 3, "seed": 2}


def test_every_run_has_a_directory_of_its_own(here: Path) -> None:
    """Names with slashes make no folders, nearby numbers stay apart.

    A number given twice is one run.
    """
    path = here / "variants.yaml"
    path.write_text("imitation / 5: {imitation_scale: 0.2}\n")
    jobs = grid(
        SweepCommand(eps=(1.0, 1.0000001, 1.0), seeds=(1, 1), variants=path, out=Path("out"))
    )
    assert [job.run.parent for job in jobs] == [Path("out")] * 2
    assert jobs[0].run != jobs[1].run
    assert {job.variant for job in jobs} == {"imitation / 5"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected names, each with settings under it"),
        ("- default", "expected names with values, found"),
        ("default: 3", "expected names, each with settings under it"),
        ("a: {eps: much}", "eps of 'a' is 'much', expected a number"),
        ("a: [", "not valid YAML"),
    ],
)
def test_bad_variants_are_one_line(here: Path, text: str, message: str, sweep: Command) -> None:
    """Before anything is trained."""
    (here / "variants.yaml").write_text(text)
    code, output, errors = sweep("--variants", "variants.yaml", "--out", "out")
    assert (code, output, "Traceback" in errors) == (1, "", False)
    assert errors.startswith("solo-sweep: variants.yaml: ")
    assert message in errors
    assert not Path("out").exists()


def test_no_seeds_are_one_line(sweep: Command) -> None:
    """There would be nothing to tabulate."""
    code, _, errors = sweep("--seeds", "--out", "out")
    assert (code, errors.count("\n")) == (1, 1)
    assert "nothing to train" in errors


# --- Sweeps --------------------------------------------------------------------------------------


def test_a_sweep_trains_in_processes_of_their_own_and_keeps_what_succeeds(
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


def test_tables_say_what_the_summaries_say(started: list[list[str]], sweep: Command) -> None:
    """Every run to the last digit, and medians over seeds with their range."""
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
    assert output == f"{text}\n{out / 'table.md'}\n"
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert [line[:3] for line in lines[2:]] == [
        ["doi", "1", "2"], ["doi", "3", "2"], ["expert", "1", "2"], ["expert", "3", "2"],
    ]  # fmt: skip
    phi = [float(row["phi max"]) for row in rows if (row["variant"], row["eps"]) == ("doi", "3.0")]
    expected = f"{statistics.median(phi):.2f} ({min(phi):.2f} to {max(phi):.2f})"
    assert dict(zip(lines[0], lines[3], strict=True))["phi max"] == expected


def test_only_what_is_missing_is_run(started: list[list[str]], sweep: Command) -> None:
    """Finished runs are left alone, begun ones continued, new ones added."""
    words = ("--variants", variants(doi={}), "--eps", 1, "--out", "out", "--seeds")
    assert sweep(*words, 1, 2)[0] == 0
    out = Path("out")
    begun, finished = out / "doi-eps1-seed1", out / "doi-eps1-seed2"
    text, policy = (out / "table.csv").read_text(), (begun / "policy.h5").read_bytes()
    for name in ("summary.json", "policy.h5", "state.pt", "ratios.h5"):
        (begun / name).unlink()
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    started.clear()

    assert sweep(*words, 1, 2, 3)[0] == 0
    assert [call[:2] for call in started] == [
        ["--resume", str(begun)], ["--config", str(out / "doi-eps1-seed3.yaml")],
    ]  # fmt: skip
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before
    assert (begun / "policy.h5").read_bytes() == policy
    assert (out / "table.csv").read_text().startswith(text)
    assert [row["seed"] for row in table(out)] == ["1", "2", "3"]
    started.clear()
    assert sweep(*words, 1, 2, 3)[0] == 0
    assert started == []


def test_runs_are_what_solo_train_would_have_made(
    started: list[list[str]], task: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """With the data that were named, and the variant's settings."""
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


def test_a_run_of_other_settings_is_not_taken_for_this_one(
    started: list[list[str]], sweep: Command
) -> None:
    """A variant that was changed since would stand in the table with old numbers."""
    words = ("--seeds", 1, "--out", "out")
    assert sweep("--variants", variants(doi={}), *words)[0] == 0
    code, _, errors = sweep("--variants", variants(doi={"gamma": 0.5}), *words)
    assert (code, errors.count("\n")) == (1, 1)
    assert (
        "doi-eps2-seed1.yaml: the run was begun with other settings. Choose another --out" in errors
    )
    assert len(started) == 1


def test_a_run_of_other_defaults_is_not_taken_for_this_one(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """What a variant does not set may have changed since the run was trained.

    The table would mix both.
    """
    path = Path("variants.yaml")
    path.write_text(
        yaml.safe_dump(
            {"doi": {name: value for name, value in SETTINGS.items() if name != "reach"}}
        )
    )
    words = ("--variants", path, "--seeds", 1, "--out", "out")
    assert sweep(*words)[0] == 0
    monkeypatch.setattr(presets, "DEFAULT", replace(presets.DEFAULT, reach=9.0))
    assert sweep.error(*words) == (
        "out/doi-eps2-seed1/config.yaml: the run was begun with other settings, reach 3.0 for 9.0 "
        "now. "
        "Choose another --out, or delete out/doi-eps2-seed1."
    )
    assert len(started) == 1


def test_settings_that_are_newer_or_older_than_a_run(
    started: list[list[str]], sweep: Command
) -> None:
    """A new one has the value of now, as when a run is continued.

    One that is gone cannot be kept to.
    """
    words = ("--variants", variants(doi={}), "--seeds", 1, "--out", "out")
    assert sweep(*words)[0] == 0
    path = Path("out/doi-eps2-seed1/config.yaml")
    content = yaml.safe_load(path.read_text())
    del content["policy"]["in_loop"]
    path.write_text(yaml.safe_dump(content))
    assert sweep(*words)[0] == 0
    content["policy"]["momentum"] = 0.9
    path.write_text(yaml.safe_dump(content))
    assert "other settings, policy.momentum 0.9 for 'nothing' now." in sweep.error(*words)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--eps 1 nan", "variant 'default': eps is nan: expected a finite number."),
        ("--eps -1", "variant 'default': eps is -1.0: expected 0 or more."),
        ("--seeds 1 -1", "variant 'default': seed is -1: expected 0 or more, and below 2^63."),
        ("--workers 0", "--workers 0: expected 1 or more."),
        ("--workers -2", "--workers -2: expected 1 or more."),
        (
            "--data nowhere",
            "nowhere: no such file or directory. Expected a dataset directory, a D4RL file or a "
            "Minari",
        ),
    ],
)
def test_what_cannot_be_trained_is_told_once(
    started: list[list[str]], sweep: Command, words: str, message: str
) -> None:
    """Before any run is begun."""
    assert sweep.error(*words.split(), "--out", "out").startswith(message)
    assert started == []
    assert not Path("out").exists()


def test_data_of_finished_runs_may_be_gone(started: list[list[str]], sweep: Command) -> None:
    """A table needs none."""
    words = ("--variants", variants(doi={}), "--out", "out", "--seeds")
    assert sweep(*words, 1)[0] == 0
    Path("datasets").unlink()
    assert sweep(*words, 1)[0] == 0
    assert sweep.error(*words, 1, 2).startswith("datasets/locomotion/coverage: no such directory.")
    assert len(started) == 1


def test_if_every_run_fails_the_first_reason_is_told(
    started: list[list[str]], sweep: Command
) -> None:
    """There is no table then; the next attempt tries again."""
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
    """Its last line is no reason: the system ended it."""

    def run(words: list[str], *, stdout: TextIO, **_: object) -> subprocess.CompletedProcess[str]:
        stdout.write("skills 3/120\n")
        return subprocess.CompletedProcess(words, -signal.SIGKILL)

    replace_processes(monkeypatch, run)
    code, _, errors = sweep("--seeds", 1, "--out", "out")
    assert code == 1
    assert (
        "default-eps2-seed1: ended with exit code -9, see out/default-eps2-seed1.log"
        in errors.splitlines()[-1]
    )


def test_an_interrupt_is_one_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, sweep: Command
) -> None:
    """The runs got it too, and continue."""

    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        raise KeyboardInterrupt

    replace_processes(monkeypatch, run)
    code, _, errors = sweep("--seeds", 1, "--out", "out")
    assert (code, errors) == (130, "solo-sweep: stopped. Run the same command again to continue.\n")


def test_numbers_that_are_missing_leave_a_gap(tmp_path: Path) -> None:
    """An accuracy where nothing was held out."""
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


def test_help_lists_every_field(sweep: Command) -> None:
    """With what it means."""
    code, text, _ = sweep("--help")
    assert code == 0
    for name in SweepCommand.__dataclass_fields__:
        assert f"--{name} " in text


def test_settings_of_solo_train_are_checked_by_it(started: list[list[str]], sweep: Command) -> None:
    """A typing error in a variant is named with the nearest setting."""
    Path("variants.yaml").write_text("a: {diversity_wieght: 3}\n")
    message = sweep.error("--variants", "variants.yaml", "--seeds", 1, "--out", "out")
    assert message.startswith(
        "variant 'a': Unknown setting 'diversity_wieght'. Did you mean 'diversity_weight'?"
    )
    assert started == []


def test_an_unreadable_file_of_variants_is_refused(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(SoloError, match="No such file or directory"):
        grid(SweepCommand(variants=tmp_path / "absent.yaml"))


def test_a_second_sweep_in_the_same_place_is_refused(here: Path, sweep: Command) -> None:
    """It would overwrite the logs of the first."""
    with exclusive(Path("runs/sweep"), ""):
        found = sweep.error("--seeds", "1", "--variants", variants(tiny=None))
    assert found.startswith("runs/sweep: another process is writing to it.")
