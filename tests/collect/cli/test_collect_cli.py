"""The command: what it prints, what it leaves, how it ends."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import matplotlib.image
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
    """The command."""
    return Command("solo-collect", main, monkeypatch, capsys)


@pytest.fixture
def recipe(config: CollectConfig, tmp_path: Path) -> Path:
    """The recipe of `collection` as a file."""
    settings.write(config, tmp_path / "recipe.yaml")
    return tmp_path / "recipe.yaml"


def test_one_command_makes_four_datasets_a_table_of_each_and_a_picture(
    command: Command, recipe: Path, collection: Path, tmp_path: Path
) -> None:
    """In a place that it names first."""
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


def test_without_a_place_it_takes_one_and_names_it(
    command: Command,
    recipe: Path,
    collection: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """datasets/TASK below the working directory; here everything is there already."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(collection, tmp_path / "datasets" / "locomotion")
    code, text, _ = command("--config", recipe, "--workers", 1)
    assert code == 0
    assert text.startswith("datasets: datasets/locomotion\n")


def test_flags_change_the_recipe(command: Command, checkpoints: Path, tmp_path: Path) -> None:
    """The paper's mixture at a thousandth, two steps long."""
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
    """To the same bytes, with tables and picture at the end."""
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
def test_a_part_that_cannot_be_is_refused(
    command: Command, recipe: Path, tmp_path: Path, shard: str
) -> None:
    """Counted from zero; nothing is begun."""
    message = command.error("--config", recipe, "--out", tmp_path / "out", f"--shard={shard}")
    assert message == f"--shard {shard}: expected PART/PARTS counted from 0, such as 3/8."
    assert not (tmp_path / "out").exists()


def test_verify_says_whole_or_what_is_not(command: Command, copy: Path) -> None:
    """Exit code 1 if anything is wrong, so that scripts see it."""
    assert command("verify", copy / "offline")[:2] == (0, f"{copy / 'offline'}: whole\n")
    (copy / "offline" / "shard-00003.h5").unlink()
    assert command("verify", copy / "offline")[:2] == (1, "shard-00003.h5: missing\n")
    assert command("repair", copy / "offline")[:2] == (
        0,
        f"{copy / 'offline'}: kept 28 trajectories, lost 4\n",
    )


def test_every_verb_says_what_it_does(command: Command) -> None:
    """In its own help text, and in one line of the command's."""
    overview = command("--help")[1]
    for verb in PROGRAM.verbs:
        code, text, _ = command(verb.name, "--help")
        assert code == 0
        first_line = str(verb.load().kind.__doc__).splitlines()[0]
        assert first_line in " ".join(text.split())
        assert f"solo-collect {verb.name}: {verb.summary}" in overview
    assert len(PROGRAM.verbs) == 6
    assert "--config FILE" in overview


@pytest.mark.parametrize("name", DATASETS)
def test_inspect_shows_sizes_and_ranges(command: Command, copy: Path, name: str) -> None:
    """And draws what has positions."""
    code, text, _ = command("inspect", copy / name)
    assert code == 0
    assert "transitions" in text
    assert "joint_velocity" in text
    assert (copy / name / "overview.png").exists() == (name != "demonstrations")


def test_a_card_is_written_where_it_says(command: Command, copy: Path) -> None:
    """Beside the manifest."""
    code, text, _ = command("card", copy / "coverage")
    assert (code, text) == (0, f"card: {copy / 'coverage' / 'README.md'}\n")


def test_replay_prints_differences_and_fails_if_there_are_any(
    command: Command, collection: Path
) -> None:
    """None here."""
    code, text, _ = command("replay", collection / "offline", "--trajectory", 7)
    assert code == 0
    assert [line.split()[1] for line in text.splitlines()] == ["0"] * len(text.splitlines())
    assert "observations" in text


def test_errors_are_one_line(
    command: Command, recipe: Path, collection: Path, tmp_path: Path
) -> None:
    """Errors of the user are one line, not a traceback."""
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
def test_a_command_that_is_no_velocity_is_refused(
    command: Command, tmp_path: Path, number: str
) -> None:
    """Nothing is collected."""
    message = command.error("--command", number, 0, 0.5, "--out", tmp_path / "out")
    assert message == f"--command {number} 0 0.5: expected three finite numbers."
    assert not (tmp_path / "out").exists()
    assert "Expected a scale above 0" in command.error("--scale", "inf", "--out", tmp_path / "out")


def test_a_read_only_place_is_one_line(command: Command, recipe: Path, tmp_path: Path) -> None:
    """With the system's reason."""
    place = tmp_path / "shelf"
    place.mkdir()
    with read_only(place):
        message = command.failure("--config", recipe, "--out", place / "out")
    assert "shelf/out: cannot be made (" in message


def test_a_task_without_shipped_checkpoints_is_one_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that was built without them."""
    monkeypatch.setattr("collect.shipped_checkpoints.FOLDER", tmp_path / "absent")
    message = command.failure("--out", tmp_path / "out")
    assert (
        "Unknown task with shipped checkpoints (name a folder with --checkpoints) 'locomotion'"
        in message
    )


@pytest.mark.parametrize(
    "words", [["--ray"], ["--ray", "True"], ["--ray=True"], ["--ray", "--workers", "1"]]
)
def test_ray_is_asked_for_by_its_flag(
    command: Command,
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    """With or without a value; here the package is missing, which is one line."""
    monkeypatch.setitem(sys.modules, "ray", None)
    message = command.failure("--config", recipe, "--out", tmp_path / "out", *words)
    assert "--ray needs the package 'ray'" in message
