"""Grid and settings of solo-sweep, which are checked before training."""

from __future__ import annotations

from pathlib import Path

import pytest

from solo_doi.algorithm.presets import VERSION_0_1
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.errors import SoloError
from solo_doi.common.lock import exclusive
from solo_doi.runs.sweep import grid
from solo_doi.runs.sweep_checks import resolved
from solo_doi.runs.sweep_command import SweepCommand
from tests.command import Command

from .sweeps import variants


def test_the_grid_has_every_variant_with_every_eps_and_seed(here: Path) -> None:
    """A variant that sets eps itself has only that eps."""
    path = here / "variants.yaml"
    path.write_text("plain:\nown: {eps: 7, skills: 3}\n")
    jobs = grid(SweepCommand(eps=(0.5, 4.0), seeds=(1, 2), variants=path, out=Path("out")))
    assert [(job.variant, job.settings["eps"], job.settings["seed"]) for job in jobs] == [
        ("plain", 0.5, 1), ("plain", 0.5, 2), ("plain", 4.0, 1), ("plain", 4.0, 2), ("own", 7.0,
        1), ("own", 7.0, 2),
    ]  # fmt: skip
    assert jobs[0].run == Path("out/plain-eps0.5-seed1")
    assert jobs[-1].settings == {"eps": 7.0, "skills": 3, "seed": 2}


def test_without_eps_every_variant_has_that_of_its_preset(tmp_path: Path) -> None:
    """The comparison is with solo-train's defaults, which differ between presets."""
    path = tmp_path / "variants.yaml"
    path.write_text("now: {}\nbefore: {preset: '0.1'}\nown: {eps: 1}\n")
    jobs = grid(SweepCommand(seeds=(1,), variants=path, out=Path("out")))
    assert [job.settings["eps"] for job in jobs] == [TrainConfig().eps, VERSION_0_1.eps, 1.0]


def test_a_task_is_that_of_all_runs(here: Path) -> None:
    """A variant may set another; without one, the data imply it."""
    path = here / "variants.yaml"
    path.write_text("plain:\nown: {task: hopper}\n")
    command = SweepCommand(task="walker2d", seeds=(1,), variants=path, out=Path("out"))
    assert [job.settings["task"] for job in grid(command)] == ["walker2d", "hopper"]
    assert [resolved(job).task for job in grid(command)] == ["walker2d", "hopper"]
    assert "task" not in grid(SweepCommand(seeds=(1,)))[0].settings


def test_every_run_has_a_directory_of_its_own(here: Path) -> None:
    """Slashes in names create no folders, and nearby numbers give different names.

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
    """The error comes before any training."""
    (here / "variants.yaml").write_text(text)
    code, output, errors = sweep("--variants", "variants.yaml", "--out", "out")
    assert (code, output, "Traceback" in errors) == (1, "", False)
    assert errors.startswith("solo-sweep: variants.yaml: ")
    assert message in errors
    assert not Path("out").exists()


def test_no_seeds_are_one_line(sweep: Command) -> None:
    """A sweep without seeds has no runs."""
    code, _, errors = sweep("--seeds", "--out", "out")
    assert (code, errors.count("\n")) == (1, 1)
    assert "nothing to train" in errors


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
            "nowhere: no such file or directory. Expected a dataset directory, a D4RL file, a "
            "Minari",
        ),
    ],
)
def test_invalid_runs_are_reported_once(
    started: list[list[str]], sweep: Command, words: str, message: str
) -> None:
    """The error comes before the first run."""
    assert sweep.error(*words.split(), "--out", "out").startswith(message)
    assert started == []
    assert not Path("out").exists()


def test_help_lists_every_field(sweep: Command) -> None:
    code, text, _ = sweep("--help")
    assert code == 0
    for name in SweepCommand.__dataclass_fields__:
        assert f"--{name} " in text


def test_settings_of_solo_train_are_checked_by_it(started: list[list[str]], sweep: Command) -> None:
    """A misspelt setting of a variant is reported with the nearest name."""
    Path("variants.yaml").write_text("a: {diversity_wieght: 3}\n")
    message = sweep.error("--variants", "variants.yaml", "--seeds", 1, "--out", "out")
    assert message.startswith(
        "variant 'a': Unknown setting 'diversity_wieght'. Did you mean 'diversity_weight'?"
    )
    assert started == []


def test_an_unreadable_file_of_variants_is_refused(tmp_path: Path) -> None:
    """The error contains the reason of the operating system."""
    with pytest.raises(SoloError, match="No such file or directory"):
        grid(SweepCommand(variants=tmp_path / "absent.yaml"))


def test_a_second_sweep_in_the_same_place_is_refused(here: Path, sweep: Command) -> None:
    """The second sweep would overwrite the logs of the first."""
    with exclusive(Path("runs/sweep"), ""):
        found = sweep.error("--seeds", "1", "--variants", variants(tiny=None))
    assert found.startswith("runs/sweep: another process is writing to it.")
