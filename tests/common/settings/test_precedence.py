"""Configuration: defaults < YAML file < flags, and defaults that depend on either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from collect.cli.pretrain import PretrainCommand
from solo_doi.common import command_line
from solo_doi.common import settings as config
from solo_doi.common.errors import SoloError
from solo_doi.common.settings import ConfigError

from .sample_settings import Inner, Outer, file


def from_flags(*arguments: str) -> Outer:
    """Parse a command line."""
    return command_line.parse(Outer, "solo-test", arguments)


# --- Defaults, file and flags --------------------------------------------------------------------


def test_defaults_give_way_to_the_file_and_the_file_to_flags(tmp_path: Path) -> None:
    """One field comes from each source, including nested parts."""
    path = file(tmp_path, "count: 10\nwidth: 20\ninner:\n  rate: 0.1\n  labels: [x, y]\n")
    result = from_flags("--config", str(path), "--count", "100", "--inner.rate", "0.9")
    assert result == Outer(count=100, width=20.0, inner=Inner(rate=0.9, labels=("x", "y")))


def test_flags_may_come_before_the_file(tmp_path: Path) -> None:
    """Precedence depends on the kind of source, not on its position."""
    path = file(tmp_path, "count: 10\nname: file\n")
    assert from_flags("--count", "100", "--config", str(path)) == Outer(count=100, name="file")


def test_the_file_may_be_given_with_an_equals_sign(tmp_path: Path) -> None:
    """The path may contain an equals sign, too."""
    path = tmp_path / "a=b.yaml"
    path.write_text("count: 10\n")
    assert from_flags(f"--config={path}", "--width=2") == Outer(count=10, width=2.0)


def test_without_file_and_flags_defaults_remain() -> None:
    assert from_flags() == Outer()


def test_every_kind_of_field_has_a_flag() -> None:
    """The kinds are numbers, switches, names, tuples, paths and none."""
    result = from_flags(
        *(
            "--width",
            "2",
            "--active",
            "True",
            "--kind",
            "slow",
            "--sizes",
            "7",
            "8",
            "--steps",
            "1",
            "2",
            "3",
        ),
        *("--limit", "0.25", "--folder", "a/b"),
    )
    assert result == Outer(
        width=2.0,
        active=True,
        kind="slow",
        sizes=(7, 8),
        steps=(1, 2, 3),
        limit=0.25,
        folder=Path("a/b"),
    )


@pytest.mark.parametrize(
    ("words", "active"),
    [
        (["--active"], True),
        (["--no-active"], False),
        (["--active", "True"], True),
        (["--active", "False"], False),
        (["--active=True"], True),
        (["--active=False"], False),
        (["--active", "--count", "3"], True),
    ],
)
def test_switches_have_one_form_and_accept_that_of_0_1(words: list[str], active: bool) -> None:
    """`--active False` was the form of version 0.1."""
    assert from_flags(*words) == Outer(active=active)


def test_a_switch_takes_no_other_value() -> None:
    with pytest.raises(SoloError, match=r"--active yes: expected True or False\."):
        from_flags("--active=yes")


def test_a_value_with_the_name_of_a_switch_is_a_value() -> None:
    """`solo-deploy --robot mock` failed in version 0.1, because there is a flag --mock."""
    assert from_flags("--name", "active") == Outer(name="active")


@pytest.mark.parametrize(
    "name", ["pretrain/skills", "pretrain/skills.yaml", "configs/pretrain/skills.yaml"]
)
def test_shipped_files_have_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names work in any directory; a local file of the same name has priority."""
    monkeypatch.chdir(tmp_path)
    found = command_line.parse(PretrainCommand, "solo-pretrain", ["--config", name])
    assert found.num_skills == 5
    here = tmp_path / name
    here.parent.mkdir(parents=True)
    here.write_text("num_skills: 3\n")
    assert command_line.parse(PretrainCommand, "p", ["--config", name]).num_skills == 3


def test_an_unknown_flag_stops_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the flag."""
    with pytest.raises(SystemExit):
        from_flags("--cuont", "3")
    assert "--cuont" in capsys.readouterr().err


def test_the_file_flag_needs_a_path() -> None:
    """The flag is the last word of the command line."""
    with pytest.raises(ConfigError, match="--config needs the path"):
        from_flags("--count", "3", "--config")


def test_help_describes_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    """The string under a field is its help text."""
    with pytest.raises(SystemExit):
        command_line.parse(PretrainCommand, "solo-pretrain", ["--help"])
    text = capsys.readouterr().out
    assert "Train an expert of a task, or skills that solve it in different ways.\n" in text
    assert "--config FILE" in text
    assert "--num-skills" in text
    assert "which never trades the task for diversity" in " ".join(text.replace("│", " ").split())


# --- Defaults that depend on other settings ------------------------------------------------------


def by_kind(early: Callable[[str, str], str]) -> Outer:
    """Return defaults that depend on the requested kind."""
    count, kind = (7, "slow") if early("kind", "fast") == "slow" else (3, "fast")
    return Outer(
        count=count, kind=kind, name=early("name", "none asked for"), inner=Inner(rate=0.7)
    )  # type: ignore[arg-type]


def from_start(*arguments: object) -> Outer:
    """Parse a command line with these defaults."""
    return command_line.parse(Outer, "solo-test", list(map(str, arguments)), start=by_kind)


def test_defaults_may_depend_on_a_flag() -> None:
    """The flag may have either form and any position; without it, the fallback value applies."""
    assert from_start() == Outer(count=3, name="none asked for", inner=Inner(rate=0.7))
    for words in (("--kind", "slow"), ("--kind=slow",), ("--width", "2", "--kind", "slow")):
        assert from_start(*words).count == 7


def test_the_last_of_two_equal_flags_counts() -> None:
    """The last one decides both the defaults and the value."""
    assert (
        from_start("--kind", "slow", "--kind=fast").count,
        from_start("--kind", "slow", "--kind=fast").kind,
    ) == (
        3,
        "fast",
    )
    assert from_start("--kind=fast", "--kind", "slow").count == 7


def test_defaults_may_depend_on_the_file_and_give_way_to_both(tmp_path: Path) -> None:
    """Defaults < file < flags; a part keeps the settings that the file does not mention."""
    path = file(tmp_path, "kind: slow\nwidth: 9\ninner: {labels: [x]}\n")
    assert from_start("--config", path, "--name", "flag") == Outer(
        count=7, kind="slow", width=9.0, name="flag", inner=Inner(rate=0.7, labels=("x",))
    )
    assert from_start("--config", path, "--count", "1").count == 1
    assert from_start("--kind", "fast", "--config", path).count == 3  # the value of the flag


def test_a_flag_with_the_same_beginning_is_unknown() -> None:
    """`--kinds` is not `--kind`."""
    with pytest.raises(SystemExit):
        from_start("--kinds", "slow")


def test_a_mapping_lies_on_top_of_a_default() -> None:
    """Named settings replace those of the default, also in nested parts.

    The default stays unchanged.
    """
    default = Outer(count=9, inner=Inner(rate=0.1, labels=("q",)))
    result = config.from_dict(Outer, {"width": 4, "inner": {"rate": 2}}, "here", default)
    assert result == Outer(count=9, width=4.0, inner=Inner(rate=2.0, labels=("q",)))
    assert default.inner.rate == 0.1
    assert config.from_dict(Outer, {}, "here", default) == default
