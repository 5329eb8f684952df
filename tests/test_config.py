"""Configuration: defaults < YAML file < flags, and a clear word about what does not fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from collect.dominic.cli import PretrainCommand
from collect.dominic.config import PretrainConfig
from solo_doi import config
from solo_doi.algorithm.config import TrainConfig
from solo_doi.algorithm.presets import PAPER, preset
from solo_doi.cli import RunConfig
from solo_doi.config import ConfigError
from solo_doi.errors import UnknownNameError

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A nested part."""

    rate: float = 0.5
    """How fast."""
    labels: tuple[str, ...] = ("a",)
    """Which ones."""


@dataclass(frozen=True, kw_only=True)
class Outer:
    """One field of every kind."""

    count: int = 3
    width: float = 1.5
    active: bool = False
    name: str = "none"
    kind: Literal["fast", "slow"] = "fast"
    sizes: tuple[int, int] = (1, 2)
    steps: tuple[int, ...] = ()
    limit: float | None = None
    folder: Path | None = None
    shares: dict[str, int] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def file(path: Path, text: str) -> Path:
    """A configuration file."""
    path = path / "settings.yaml"
    path.write_text(text)
    return path


def from_flags(*arguments: str) -> Outer:
    """What a command line gives."""
    return config.from_command_line(Outer, "solo-test", arguments)


# --- Precedence ----------------------------------------------------------------------------------


def test_defaults_give_way_to_the_file_and_the_file_to_flags(tmp_path: Path) -> None:
    """One field from each, in nested parts too."""
    path = file(tmp_path, "count: 10\nwidth: 20\ninner:\n  rate: 0.1\n  labels: [x, y]\n")
    result = from_flags("--config", str(path), "--count", "100", "--inner.rate", "0.9")
    assert result == Outer(count=100, width=20.0, inner=Inner(rate=0.9, labels=("x", "y")))


def test_flags_may_come_before_the_file(tmp_path: Path) -> None:
    """Precedence is by kind, not by place."""
    path = file(tmp_path, "count: 10\nname: file\n")
    assert from_flags("--count", "100", "--config", str(path)) == Outer(count=100, name="file")


def test_the_file_may_be_given_with_an_equals_sign(tmp_path: Path) -> None:
    """Like any other flag, also if its name has one."""
    path = tmp_path / "a=b.yaml"
    path.write_text("count: 10\n")
    assert from_flags(f"--config={path}", "--width=2") == Outer(count=10, width=2.0)


def test_without_file_and_flags_defaults_remain() -> None:
    """Nothing has to be given."""
    assert from_flags() == Outer()


def test_every_kind_of_field_has_a_flag() -> None:
    """Numbers, switches, names, tuples, paths, and none."""
    result = from_flags(
        *("--width", "2", "--active", "True", "--kind", "slow", "--sizes", "7", "8", "--steps", "1", "2", "3"),
        *("--limit", "0.25", "--folder", "a/b"),
    )
    assert result == Outer(
        width=2.0, active=True, kind="slow", sizes=(7, 8), steps=(1, 2, 3), limit=0.25, folder=Path("a/b")
    )


def test_an_unknown_flag_stops_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """It is named."""
    with pytest.raises(SystemExit):
        from_flags("--cuont", "3")
    assert "--cuont" in capsys.readouterr().err


def test_the_file_flag_needs_a_path() -> None:
    """At the end of the line nothing follows it."""
    with pytest.raises(ConfigError, match="--config needs the path"):
        from_flags("--count", "3", "--config")


def test_help_tells_what_a_field_means(capsys: pytest.CaptureFixture[str]) -> None:
    """The string under a field is its help."""
    with pytest.raises(SystemExit):
        config.from_command_line(PretrainCommand, "solo-pretrain", ["--help"])
    text = capsys.readouterr().out
    assert "--num-skills" in text
    assert "which never trades the task for diversity" in " ".join(text.replace("│", " ").split())


# --- Where defaults come from --------------------------------------------------------------------


def by_kind(early: Callable[[str, str], str]) -> Outer:
    """Defaults that depend on what is asked for."""
    count, kind = (7, "slow") if early("kind", "fast") == "slow" else (3, "fast")
    return Outer(count=count, kind=kind, name=early("name", "none asked for"), inner=Inner(rate=0.7))  # type: ignore[arg-type]


def from_start(*arguments: object) -> Outer:
    """What a command line gives on top of those."""
    return config.from_command_line(Outer, "solo-test", list(map(str, arguments)), start=by_kind)


def test_defaults_may_depend_on_a_flag() -> None:
    """In either form, wherever it is; without it, on what is answered instead."""
    assert from_start() == Outer(count=3, name="none asked for", inner=Inner(rate=0.7))
    for words in (("--kind", "slow"), ("--kind=slow",), ("--width", "2", "--kind", "slow")):
        assert from_start(*words).count == 7


def test_of_a_flag_given_twice_the_last_counts() -> None:
    """For the defaults as for the value."""
    assert (from_start("--kind", "slow", "--kind=fast").count, from_start("--kind", "slow", "--kind=fast").kind) == (
        3,
        "fast",
    )
    assert from_start("--kind=fast", "--kind", "slow").count == 7


def test_defaults_may_depend_on_the_file_and_give_way_to_both(tmp_path: Path) -> None:
    """Defaults < file < flags; a part of which the file sets one thing keeps the others."""
    path = file(tmp_path, "kind: slow\nwidth: 9\ninner: {labels: [x]}\n")
    assert from_start("--config", path, "--name", "flag") == Outer(
        count=7, kind="slow", width=9.0, name="flag", inner=Inner(rate=0.7, labels=("x",))
    )
    assert from_start("--config", path, "--count", "1").count == 1
    assert from_start("--kind", "fast", "--config", path).count == 3  # the flag, not the file


def test_a_flag_that_only_begins_alike_is_another() -> None:
    """`--names` is not `--name`."""
    with pytest.raises(SystemExit):
        from_start("--kinds", "slow")


def test_a_mapping_lies_on_top_of_a_default() -> None:
    """Named settings replace, nested ones inside their part, and the default stays as it was."""
    default = Outer(count=9, inner=Inner(rate=0.1, labels=("q",)))
    result = config.from_dict(Outer, {"width": 4, "inner": {"rate": 2}}, "here", default)
    assert result == Outer(count=9, width=4.0, inner=Inner(rate=2.0, labels=("q",)))
    assert default.inner.rate == 0.1
    assert config.from_dict(Outer, {}, "here", default) == default


@pytest.mark.parametrize("name", ["default", "paper"])
@pytest.mark.parametrize("task", ["locomotion", "gym"])
def test_every_preset_can_be_trained_and_is_read_back(name: str, task: str, tmp_path: Path) -> None:
    """As every run writes it."""
    chosen = preset(name, task)
    chosen.check()
    config.write(chosen, tmp_path / "config.yaml")
    assert config.read(TrainConfig, tmp_path / "config.yaml") == chosen


def test_presets_differ_and_fit_their_task() -> None:
    """Foreign data have one term, so no preset may ask for others."""
    assert preset("default", "locomotion") == TrainConfig()
    assert preset("paper", "locomotion") == PAPER != TrainConfig()
    for name in ("default", "paper"):
        foreign = preset(name, "gym")
        assert (foreign.classifier.terms, foreign.discriminator.terms) == (("observation",), ("observation",))
        assert foreign.projection == ()
    assert preset("paper", "gym").policy == PAPER.policy


def test_an_unknown_preset_names_the_nearest() -> None:
    """And all there are."""
    with pytest.raises(UnknownNameError, match=r"'papper'\. Did you mean 'paper'\? Known: default, paper"):
        preset("papper", "locomotion")


# --- Files ---------------------------------------------------------------------------------------


def test_a_file_lists_only_what_differs(tmp_path: Path) -> None:
    """Everything else keeps its default; an empty file changes nothing."""
    assert config.read(Outer, file(tmp_path, "count: 4\n")) == Outer(count=4)
    assert config.read(Outer, file(tmp_path, "")) == Outer()
    assert config.read(Outer, file(tmp_path, "# nothing yet\n")) == Outer()


def test_values_become_the_types_of_their_fields(tmp_path: Path) -> None:
    """A whole number is a float where one is asked for, a list a tuple, a text a path."""
    text = "width: 2\nsizes: [3, 4]\nsteps: [5]\nlimit: 1\nfolder: a/b\nshares: {x: 7}\n"
    result = config.read(Outer, file(tmp_path, text))
    assert result == Outer(width=2.0, sizes=(3, 4), steps=(5,), limit=1.0, folder=Path("a/b"), shares={"x": 7})
    assert isinstance(result.width, float)
    assert isinstance(result.limit, float)
    assert isinstance(result.sizes, tuple)


def test_none_is_a_value_where_it_is_allowed(tmp_path: Path) -> None:
    """`null` sets an optional field, and nothing else."""
    assert config.read(Outer, file(tmp_path, "limit: null\n")).limit is None
    with pytest.raises(ConfigError, match="count: expected int, found None"):
        config.read(Outer, file(tmp_path, "count: null\n"))


def refusal(path: Path, text: str) -> str:
    """The message with which a file is refused; it names the file."""
    path = file(path, text)
    with pytest.raises(ConfigError) as error:
        config.read(Outer, path)
    assert str(error.value).startswith(str(path))
    return str(error.value)


def test_an_unknown_setting_names_the_nearest_one(tmp_path: Path) -> None:
    """A typing error must not train for an hour with the default."""
    message = refusal(tmp_path, "cuont: 4\n")
    assert "Unknown setting 'cuont'. Did you mean 'count'?" in message
    assert "width" in message


def test_an_unknown_nested_setting_names_its_part(tmp_path: Path) -> None:
    """`rate` belongs to the inner part."""
    message = refusal(tmp_path, "inner:\n  raet: 1\n")
    assert "inner: Unknown setting 'raet'. Did you mean 'rate'?" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count: 1.5", "count: expected int, found 1.5"),
        ("count: true", "count: expected int, found True"),
        ("count: '3'", "count: expected int, found '3'"),
        ("width: true", "width: expected float, found True"),
        ("width: wide", "width: expected float, found 'wide'"),
        ("active: 1", "active: expected bool, found 1"),
        ("name: 3", "name: expected str, found 3"),
        ("kind: medium", "kind: expected typing.Literal['fast', 'slow'], found 'medium'"),
        ("sizes: [1]", "sizes: expected tuple[int, int], found [1]"),
        ("sizes: [1, 2, 3]", "sizes: expected tuple[int, int], found [1, 2, 3]"),
        ("sizes: [1, 2.5]", "sizes: expected int, found 2.5"),
        ("sizes: 1", "sizes: expected tuple[int, int], found 1"),
        ("sizes: '12'", "sizes: expected tuple[int, int], found '12'"),
        ("steps: [a]", "steps: expected int, found 'a'"),
        ("limit: high", "limit: expected float | None, found 'high'"),
        ("folder: 3", "folder: expected pathlib"),
        ("shares: [1]", "shares: expected dict[str, int], found [1]"),
        ("shares: {a: x}", "shares.a: expected int, found 'x'"),
        ("shares: {1: 2}", "shares: expected str, found 1"),
        ("inner: 3", "inner: expected names with values, found 3"),
        ("inner: [rate, 1]", "inner: expected names with values"),
        ("- count", "expected names with values, found ['count']"),
        ("[]", "expected names with values, found []"),
        ("false", "expected names with values, found False"),
        ("count", "expected names with values, found 'count'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_what_was_expected(tmp_path: Path, text: str, message: str) -> None:
    """What was found, where, what was expected."""
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize("text", ["count: [", "a: b: c", "count: 3\n\twidth: 1", "\x00"])
def test_bad_yaml_is_refused(tmp_path: Path, text: str) -> None:
    """With the parser's reason."""
    assert "not valid YAML" in refusal(tmp_path, text)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """A checkpoint given by mistake."""
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04\xff\xfe\x80")
    with pytest.raises(ConfigError, match="not valid YAML"):
        config.read(Outer, path)


def test_yaml_cannot_execute_anything(tmp_path: Path) -> None:
    """Tags that build Python objects are refused."""
    target = tmp_path / "executed"
    assert "not valid YAML" in refusal(tmp_path, f"name: !!python/object/apply:os.mkdir ['{target}']\n")
    assert not target.exists()


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(ConfigError, match=r"absent\.yaml: No such file or directory"):
        config.read(Outer, tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        config.read(Outer, tmp_path)


# --- Writing -------------------------------------------------------------------------------------

floats = st.floats(allow_nan=False)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
inners = st.builds(Inner, rate=floats, labels=st.lists(texts, max_size=3).map(tuple))
outers = st.builds(
    Outer,
    count=st.integers(),
    width=floats,
    active=st.booleans(),
    name=texts,
    kind=st.sampled_from(["fast", "slow"]),
    sizes=st.tuples(st.integers(), st.integers()),
    steps=st.lists(st.integers(), max_size=4).map(tuple),
    limit=st.none() | floats,
    folder=st.none() | st.sampled_from([Path("a"), Path("/b/c d")]),
    shares=st.dictionaries(texts, st.integers(), max_size=3),
    inner=inners,
)


@given(outers)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, written: Outer) -> None:
    """Any values, small and large numbers, names that look like numbers: the resolved copy is the run."""
    path = tmp_path_factory.mktemp("config") / "settings.yaml"
    config.write(written, path)
    assert config.read(Outer, path) == written


def test_the_written_file_is_plain_yaml_in_the_order_of_the_fields(tmp_path: Path) -> None:
    """People read it: no tags, no sorting, every value."""
    path = tmp_path / "settings.yaml"
    config.write(Outer(folder=Path("a/b")), path)
    content = yaml.safe_load(path.read_text())
    assert list(content) == [item.name for item in dataclasses.fields(Outer)]
    assert content["folder"] == "a/b"
    assert content["sizes"] == [1, 2]
    assert content["inner"] == {"rate": 0.5, "labels": ["a"]}


def test_the_default_pretraining_is_read_back(tmp_path: Path) -> None:
    """What every run writes beside itself."""
    config.write(PretrainConfig(), tmp_path / "config.yaml")
    assert config.read(PretrainConfig, tmp_path / "config.yaml") == PretrainConfig()


# --- Files of this repository --------------------------------------------------------------------

KINDS: dict[str, type[Any]] = {"pretrain": PretrainCommand}
"""What the files in each folder of configs/ configure."""
SWEEPS = sorted((ROOT / "configs" / "sweep").glob("*.yaml"))
"""Files of named variants; see below."""
SHIPPED = sorted({*(ROOT / "configs").rglob("*.yaml")} - {*SWEEPS})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shipped_file_loads_and_changes_something(path: Path) -> None:
    """A setting that was renamed in the code must be renamed in the files; restated defaults would go stale."""
    kind = KINDS.get(path.parent.name)
    if kind is None:
        pytest.skip(f"no configuration class is known here for {path.parent.name}")
    loaded = config.read(kind, path)
    assert loaded != kind()


def shipped_variants() -> list[tuple[Path, str, dict[str, Any]]]:
    """Every variant of every sweep, with its file and name."""
    return [(path, name, settings) for path in SWEEPS for name, settings in yaml.safe_load(path.read_text()).items()]


@pytest.mark.parametrize(("path", "name", "settings"), shipped_variants(), ids=lambda value: str(value)[-30:])
def test_every_shipped_variant_can_be_trained(path: Path, name: str, settings: dict[str, Any]) -> None:
    """Each is a valid configuration, other than what is trained without a sweep."""
    result = config.from_dict(RunConfig, settings, f"{path}: {name}", RunConfig())
    result.check()
    assert result != RunConfig()


def test_shipped_variants_differ_from_each_other() -> None:
    """Two names for the same runs would waste one of them."""
    assert len(SWEEPS) >= 2
    for path in SWEEPS:
        variants = yaml.safe_load(path.read_text())
        resolved = [config.from_dict(RunConfig, settings, str(path), RunConfig()) for settings in variants.values()]
        assert all(one not in resolved[:number] for number, one in enumerate(resolved))


def test_numbers_as_people_write_them_are_numbers() -> None:
    """YAML 1.1 takes 1e-3 for text."""
    assert config.from_dict(PretrainConfig, {"lr": "1e-3"}, "file").lr == 1e-3
    with pytest.raises(ConfigError, match="expected float, found 'fast'"):
        config.from_dict(PretrainConfig, {"lr": "fast"}, "file")
