"""Configuration files: reading, writing, and errors for invalid content."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from collect.dominic.pretrain_config import PretrainConfig
from solo_doi.common import settings as config
from solo_doi.common.settings import ConfigError

from .sample_settings import Inner, Outer, file

# --- Reading -------------------------------------------------------------------------------------


def test_a_file_lists_only_changed_settings(tmp_path: Path) -> None:
    """Other fields keep their defaults; an empty file is valid."""
    assert config.read(Outer, file(tmp_path, "count: 4\n")) == Outer(count=4)
    assert config.read(Outer, file(tmp_path, "")) == Outer()
    assert config.read(Outer, file(tmp_path, "# nothing yet\n")) == Outer()


def test_values_become_the_types_of_their_fields(tmp_path: Path) -> None:
    """Whole numbers become floats, lists tuples and texts paths, according to the field's type."""
    text = "width: 2\nsizes: [3, 4]\nsteps: [5]\nlimit: 1\nfolder: a/b\nshares: {x: 7}\n"
    result = config.read(Outer, file(tmp_path, text))
    assert result == Outer(
        width=2.0, sizes=(3, 4), steps=(5,), limit=1.0, folder=Path("a/b"), shares={"x": 7}
    )
    assert isinstance(result.width, float)
    assert isinstance(result.limit, float)
    assert isinstance(result.sizes, tuple)


def test_none_is_a_value_where_it_is_allowed(tmp_path: Path) -> None:
    """`null` is valid only for optional fields."""
    assert config.read(Outer, file(tmp_path, "limit: null\n")).limit is None
    with pytest.raises(ConfigError, match="count: expected int, found None"):
        config.read(Outer, file(tmp_path, "count: null\n"))


def refusal(path: Path, text: str) -> str:
    """Return the error message for a file, which must name the file."""
    path = file(path, text)
    with pytest.raises(ConfigError) as error:
        config.read(Outer, path)
    assert str(error.value).startswith(str(path))
    return str(error.value)


def test_an_unknown_setting_names_the_nearest_one(tmp_path: Path) -> None:
    """Misspelt settings must not fall back to their defaults."""
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
def test_a_value_of_the_wrong_type_is_reported_with_the_expected_type(
    tmp_path: Path, text: str, message: str
) -> None:
    """The message contains the value found, its place and the type expected."""
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["count: [", "a: b: c", "count: 3\n\twidth: 1", "\x00", "count: 2026-99-99", "[" * 2000],
    ids=["open", "two colons", "tab", "null", "no date", "nested"],
)
def test_bad_yaml_is_refused(tmp_path: Path, text: str) -> None:
    """The message contains the parser's reason, on one line."""
    message = refusal(tmp_path, text)
    assert "not valid YAML" in message
    assert "\n" not in message


def test_an_integer_too_large_for_a_number_is_refused(tmp_path: Path) -> None:
    """YAML allows integers of any size."""
    assert "expected float, found 1000" in refusal(tmp_path, f"width: {10**400}")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """A checkpoint was given by mistake."""
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\x03\x04\xff\xfe\x80")
    with pytest.raises(ConfigError, match="not valid YAML"):
        config.read(Outer, path)


def test_yaml_cannot_execute_anything(tmp_path: Path) -> None:
    """Tags that build Python objects are refused."""
    target = tmp_path / "executed"
    assert "not valid YAML" in refusal(
        tmp_path, f"name: !!python/object/apply:os.mkdir ['{target}']\n"
    )
    assert not target.exists()


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    """The error contains the reason of the operating system."""
    with pytest.raises(ConfigError, match=r"absent\.yaml: No such file or directory"):
        config.read(Outer, tmp_path / "absent.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        config.read(Outer, tmp_path)


def test_numbers_as_people_write_them_are_numbers() -> None:
    """YAML 1.1 reads 1e-3 as text."""
    assert config.from_dict(PretrainConfig, {"lr": "1e-3"}, "file").lr == 1e-3
    with pytest.raises(ConfigError, match="expected float, found 'fast'"):
        config.from_dict(PretrainConfig, {"lr": "fast"}, "file")


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
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, written: Outer
) -> None:
    """The values include small and large numbers, and names that look like numbers.

    A resolved copy of the settings defines a run.
    """
    path = tmp_path_factory.mktemp("config") / "settings.yaml"
    config.write(written, path)
    assert config.read(Outer, path) == written


def test_the_written_file_is_plain_yaml_in_the_order_of_the_fields(tmp_path: Path) -> None:
    """The file has no tags and contains every value, so that people can read it."""
    path = tmp_path / "settings.yaml"
    config.write(Outer(folder=Path("a/b")), path)
    content = yaml.safe_load(path.read_text())
    assert list(content) == [item.name for item in dataclasses.fields(Outer)]
    assert content["folder"] == "a/b"
    assert content["sizes"] == [1, 2]
    assert content["inner"] == {"rate": 0.5, "labels": ["a"]}
