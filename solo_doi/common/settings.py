"""Configuration in frozen dataclasses, read from and written to YAML files."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from .errors import SoloError, UnknownNameError
from .untrusted import read_bounded

Config = TypeVar("Config")
Part = TypeVar("Part")
SCIENTIFIC = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""Numbers that YAML 1.1 reads as text, such as 1e-3."""

SHIPPED_CONFIGS = Path(__file__).parents[1] / "configs"
"""Configuration files that come with the package: a link to `configs/` in a checkout."""


class ConfigError(SoloError):
    """A configuration file that does not fit its dataclass."""


def read(kind: type[Config], path: Path) -> Config:
    """Read a YAML file that lists differences from the defaults."""
    return from_dict(kind, load(path), str(path))


def from_dict(
    kind: type[Config], content: object, where: str, default: Config | None = None
) -> Config:
    """Build a dataclass from nested mappings, on top of `default`.

    Raises:
        ConfigError: A name is unknown, or a value has the wrong type.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where}: expected names with values, found {content!r}.")
    hints = typing.get_type_hints(kind)
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # kind is a dataclass
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name not in names:
            raise ConfigError(f"{where}: {UnknownNameError('setting', name, names)}")
        values[name] = _convert(
            hints[name], value, f"{where}: {name}", getattr(default, name, None)
        )
    if default is None:
        return kind(**values)
    return dataclasses.replace(default, **values)  # type: ignore[type-var]  # a dataclass, as `kind` is


def part_of(command: Config, kind: type[Part]) -> Part:
    """Return the settings of a command that belong to `kind`, the dataclass it extends."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: getattr(command, name) for name in names})


def to_dict(config: object) -> dict[str, Any]:
    """Return nested plain values, ready for YAML or JSON."""
    return {
        field.name: _plain(getattr(config, field.name))
        for field in dataclasses.fields(config)  # type: ignore[arg-type]  # config is a dataclass instance
    }


def to_yaml(config: object) -> str:
    """Return the resolved configuration in the form that `read` reads."""
    return yaml.safe_dump(to_dict(config), sort_keys=False)


def write(config: object, path: Path) -> None:
    """Write the resolved configuration."""
    path.write_text(to_yaml(config))


def find(name: Path) -> Path:
    """Return the file of this name; names of shipped files need neither `configs/` nor `.yaml`."""
    if name.exists() or name.is_absolute():
        return name
    parts = name.parts
    if parts[:1] == ("configs",):
        parts = parts[1:]
    shipped = SHIPPED_CONFIGS.joinpath(*parts)
    for candidate in (shipped, shipped.with_name(f"{shipped.name}.yaml")):
        if candidate.is_file():
            return candidate
    return name


def load(path: Path) -> Mapping[str, Any]:
    """Read the names and values of a YAML file without checking them; an empty file has none."""
    path = find(path)
    try:
        content = yaml.safe_load(read_bounded(path).decode())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}. Expected a YAML file.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A ValueError comes from an impossible date.
        raise ConfigError(f"{path}: not valid YAML. {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, Mapping):
        raise ConfigError(f"{path}: expected names with values, found {content!r}.")
    return content or {}


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, tuple | list):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return SCIENTIFIC.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _convert(hint: Any, value: Any, where: str, default: Any = None) -> Any:  # noqa: ANN401  # any value
    if dataclasses.is_dataclass(hint):
        return from_dict(typing.cast(type, hint), value, where, default)
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    # In Python 3.10, tuple[float, float] is also an instance of type.
    plain = origin is None and isinstance(hint, type)
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) == len(value):
            return tuple(
                _convert(kind, item, where) for kind, item in zip(kinds, value, strict=True)
            )
    elif origin is dict and isinstance(value, dict):
        key_kind, value_kind = arguments
        return {
            _convert(key_kind, k, where): _convert(value_kind, v, f"{where}.{k}")
            for k, v in value.items()
        }
    elif origin is typing.Literal:
        if value in arguments:
            return value
    elif origin in (typing.Union, types.UnionType):
        for option in arguments:
            try:
                return _convert(option, value, where)
            except ConfigError:
                continue
    elif hint is types.NoneType and value is None:
        return None
    elif hint is Path and isinstance(value, str):
        return Path(value)
    elif hint is float and _is_number(value):
        with contextlib.suppress(OverflowError):  # an integer that is too large for a number
            return float(value)
    elif plain and isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    expected = hint.__name__ if plain else hint  # int, but also tuple[float, float]
    raise ConfigError(f"{where}: expected {expected}, found {value!r}.")
