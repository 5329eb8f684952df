"""The command solo-collect: output, files and exit codes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from collect.cli.collect import PROGRAM, main
from collect.recipes import CollectConfig
from solo_doi.common import settings
from solo_doi.data.dataset import Dataset
from tests.collect.recipes import DATASETS, fingerprint
from tests.command import Command
from tests.common.disks import read_only


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-collect, run in this process."""
    return Command("solo-collect", main, monkeypatch, capsys)


@pytest.fixture
def recipe(config: CollectConfig, tmp_path: Path) -> Path:
    """The recipe of `collection` as a file."""
    settings.write(config, tmp_path / "recipe.yaml")
    return tmp_path / "recipe.yaml"


def test_one_command_makes_four_datasets_a_table_of_each_and_a_picture(
    command: Command, recipe: Path, collection: Path, tmp_path: Path
) -> None:
    """The command prints its output directory first."""
    out = tmp_path / "out"
    code, text, _ = command(
        "--task", "locomotion", "--config", recipe, "--out", out, "--workers", 1
    )
    assert code == 0
    assert text.startswith(f"datasets: {out}\n")
    assert all(f"{out.name}/{name}" in "".join(text.split()) for name in DATASETS)
    assert "35 trajectories, 210 transitions" in " ".join(text.split())
    assert f"picture: {out / 'overview.png'}" in text
    assert matplotlib.image.imread(out / "overview.png").std() > 0.01
    assert fingerprint(out) == fingerprint(collection)


def test_the_default_output_directory_is_printed(
    command: Command,
    recipe: Path,
    collection: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default is `datasets/TASK` in the working directory.

    Here it already holds the datasets.
    """
    monkeypatch.chdir(tmp_path)
    shutil.copytree(collection, tmp_path / "datasets" / "locomotion")
    code, text, _ = command("--config", recipe, "--workers", 1)
    assert code == 0
    assert text.startswith("datasets: datasets/locomotion\n")


def test_flags_change_the_recipe(command: Command, checkpoints: Path, tmp_path: Path) -> None:
    """The mixture of the paper is scaled to 8 trajectories of two steps."""
    code, _, _ = command(
        "--task", "locomotion", "--sim", "mujoco", "--scale", 0.002, "--seed", 7,
        "--checkpoints", checkpoints,
        "--out", tmp_path / "out", "--expert.steps", 2, "--offline.steps", 2, "--workers", 1,
    )  # fmt: skip
    assert code == 0
    offline = Dataset(tmp_path / "out" / "offline")
    assert offline.manifest.num_trajectories == 8
    assert len(offline) == 16
    assert offline.manifest.seed == 7
    assert offline.column("episodes/checkpoint").tolist() == [0, 0, 0, 0, 1, 1, 2, 3]


def test_parts_are_made_and_merged(
    command: Command, recipe: Path, collection: Path, tmp_path: Path
) -> None:
    """The merged bytes equal those of a single run; tables and picture are included."""
    parts = [tmp_path / "zero", tmp_path / "one"]
    for number, part in enumerate(parts):
        code, text, _ = command(
            "--config", recipe, "--out", part, "--shard", f"{number}/2", "--workers", 1
        )
        assert code == 0
        assert f"part {number} of 2 is done; combine the parts with `solo-collect merge`" in text
    assert "the parts hold 8 of 12 trajectories" in command.error(
        "merge", tmp_path / "whole", parts[0]
    )
    code, text, _ = command("merge", tmp_path / "whole", *parts)
    assert code == 0
    assert fingerprint(tmp_path / "whole") == fingerprint(collection)
    assert (tmp_path / "whole" / "overview.png").exists()


@pytest.mark.parametrize("shard", ["9/8", "8/8", "-1/8", "3", "a/b", "1/2/3", "0/0"])
def test_an_invalid_part_is_refused(
    command: Command, recipe: Path, tmp_path: Path, shard: str
) -> None:
    """Parts count from zero; no file is written."""
    message = command.error("--config", recipe, "--out", tmp_path / "out", f"--shard={shard}")
    assert message == f"--shard {shard}: expected PART/PARTS counted from 0, such as 3/8."
    assert not (tmp_path / "out").exists()


def test_verify_reports_damage(command: Command, copy: Path) -> None:
    """The exit code is 1 for any problem, so that scripts notice it."""
    assert command("verify", copy / "offline")[:2] == (0, f"{copy / 'offline'}: whole\n")
    (copy / "offline" / "shard-00003.h5").unlink()
    assert command("verify", copy / "offline")[:2] == (1, "shard-00003.h5: missing\n")
    assert command("repair", copy / "offline")[:2] == (
        0,
        f"{copy / 'offline'}: kept 28 trajectories, lost 4\n",
    )


def test_every_sub_command_has_a_summary(command: Command) -> None:
    """The help text of each sub-command begins with its summary, which the overview repeats."""
    overview = command("--help")[1]
    for verb in PROGRAM.verbs:
        code, text, _ = command(verb.name, "--help")
        assert code == 0
        first_line = str(verb.load().kind.__doc__).splitlines()[0]
        assert first_line in " ".join(text.split())
        assert f"solo-collect {verb.name}: {verb.summary}" in overview
    assert len(PROGRAM.verbs) == 8
    assert "--config FILE" in overview


@pytest.mark.parametrize("name", DATASETS)
def test_inspect_shows_sizes_and_ranges(command: Command, copy: Path, name: str) -> None:
    """A picture is drawn for datasets with positions."""
    code, text, _ = command("inspect", copy / name)
    assert code == 0
    assert "transitions" in text
    assert "joint_velocity" in text
    assert (copy / name / "overview.png").exists() == (name != "demonstrations")


def test_a_card_is_written_at_the_printed_path(command: Command, copy: Path) -> None:
    """The card is beside the manifest."""
    code, text, _ = command("card", copy / "coverage")
    assert (code, text) == (0, f"card: {copy / 'coverage' / 'README.md'}\n")


def test_replay_prints_differences_and_fails_if_there_are_any(
    command: Command, collection: Path
) -> None:
    """The replay of this trajectory has no differences."""
    code, text, _ = command("replay", collection / "offline", "--trajectory", 7)
    assert code == 0
    assert [line.split()[1] for line in text.splitlines()] == ["0"] * len(text.splitlines())
    assert "observations" in text


def test_errors_are_one_line(
    command: Command, recipe: Path, collection: Path, tmp_path: Path
) -> None:
    """User errors are one line without a traceback."""
    assert "no manifest.json in it" in command.error("inspect", tmp_path)
    assert "begun with other settings" in command.failure(
        "--config", recipe, "--seed", 2, "--out", collection
    )
    assert "expert.pt: no such file" in command.failure(
        "--checkpoints", tmp_path, "--out", tmp_path / "out"
    )
    assert "has trajectories 0 to 31, not 99" in command.error(
        "replay", collection / "offline", "--trajectory", 99
    )
    assert "absent/expert: no manifest.json in it" in command.error(
        "merge", tmp_path / "whole", tmp_path / "absent"
    )
    assert "Expected a scale above 0" in command.error(
        "--config", recipe, "--scale", 0, "--out", tmp_path / "out"
    )


@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_a_command_that_is_not_finite_is_refused(
    command: Command, tmp_path: Path, number: str
) -> None:
    """No file is written."""
    message = command.error("--command", number, 0, 0.5, "--out", tmp_path / "out")
    assert message == f"--command {number} 0 0.5: expected three finite numbers."
    assert not (tmp_path / "out").exists()
    assert "Expected a scale above 0" in command.error("--scale", "inf", "--out", tmp_path / "out")


def test_a_read_only_place_is_one_line(command: Command, recipe: Path, tmp_path: Path) -> None:
    """The line contains the reason of the operating system."""
    place = tmp_path / "shelf"
    place.mkdir()
    with read_only(place):
        message = command.failure("--config", recipe, "--out", place / "out")
    assert "shelf/out: cannot be made (" in message


def test_a_task_without_shipped_checkpoints_is_one_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package was built without checkpoints."""
    monkeypatch.setattr("collect.shipped_checkpoints.FOLDER", tmp_path / "absent")
    message = command.failure("--out", tmp_path / "out")
    assert (
        "Unknown task with shipped checkpoints (name a folder with --checkpoints) 'locomotion'"
        in message
    )


@pytest.mark.parametrize(
    "words", [["--ray"], ["--ray", "True"], ["--ray=True"], ["--ray", "--workers", "1"]]
)
def test_ray_is_used_with_its_flag(
    command: Command,
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    """`--ray` works with and without a value.

    Here the package is missing and the error is one line.
    """
    monkeypatch.setitem(sys.modules, "ray", None)
    message = command.failure("--config", recipe, "--out", tmp_path / "out", *words)
    assert "--ray needs the package 'ray'" in message


def test_the_late_recipe_has_more_trajectories_of_late_checkpoints(
    command: Command, checkpoints: Path, tmp_path: Path
) -> None:
    """Of 32 trajectories, 12 are of the last two checkpoints; with the paper's recipe, 2."""
    counts = {}
    for recipe in ("paper", "late"):
        out = tmp_path / recipe
        code, _, _ = command(
            "--recipe", recipe, "--scale", 0.008, "--checkpoints", checkpoints,
            "--out", out, "--expert.steps", 2, "--offline.steps", 2, "--workers", 1,
        )  # fmt: skip
        assert code == 0
        counts[recipe] = np.bincount(Dataset(out / "offline").column("episodes/checkpoint"))
    assert counts["paper"].tolist() == [16, 8, 4, 2, 1, 1]
    assert counts["late"].tolist() == [8, 4, 4, 4, 6, 6]
