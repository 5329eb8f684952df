"""Configuration: frozen dataclasses; defaults < YAML file < flags. The resolved copy lies beside every artefact."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from .errors import SoloError, UnknownNameError

Config = TypeVar("Config")
SCIENTIFIC = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
"""Numbers that YAML 1.1 takes for text, such as 1e-3."""

FILE_HELP = "Options may also come from a YAML file, named by `--config FILE`; flags win over it."


class ConfigError(SoloError):
    """A configuration file that does not fit its dataclass."""


def from_command_line(
    kind: type[Config],
    program: str,
    arguments: Sequence[str] | None = None,
    start: Callable[[Callable[[str, str], str]], Config] | None = None,
    switches: Sequence[str] = (),
) -> Config:
    """Build a configuration from flags, on top of the file named by `--config` if there is one.

    `start` may choose the defaults by what is asked for: it is given a function that looks up a flag by name, in the
    command line or else in the file, with what to answer if it is in neither. Flags named in `switches` may stand
    alone; all others have a value, so that files and flags can both unset them.
    """
    import tyro  # here, so that reading a configuration needs no command-line library

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # "--config=FILE" as "--config FILE": every other flag may be written either way.
    arguments = [
        part
        for word in arguments
        for part in (word.split("=", 1) if word[:9] == "--config=" else [word])
    ]
    arguments = [
        f"{word}=True"
        if word.removeprefix("--") in switches and after not in ("True", "False")
        else word
        for word, after in itertools.pairwise([*arguments, ""])
    ]
    content: Mapping[str, Any] = {}
    where = "command line"
    if "--config" in arguments:
        place = arguments.index("--config")
        if place + 1 == len(arguments):
            raise ConfigError("--config needs the path of a YAML file.")
        where = arguments[place + 1]
        content = load(Path(where))
        del arguments[place : place + 2]

    def early(name: str, otherwise: str) -> str:
        found = str(content.get(name, otherwise))
        for word, following in itertools.pairwise([*arguments, ""]):
            if word == f"--{name}" or word.startswith(f"--{name}="):
                found = word.partition("=")[2] or following  # the last one counts
        return found

    default = from_dict(kind, content, where, kind() if start is None else start(early))
    return tyro.cli(
        kind,
        prog=program,
        description=f"{inspect.getdoc(kind)}\n\n{FILE_HELP}",
        args=arguments,
        default=default,
        config=(tyro.conf.FlagConversionOff,),
    )


def read(kind: type[Config], path: Path) -> Config:
    """Read a YAML file that lists what differs from the defaults."""
    return from_dict(kind, load(path), str(path))


def from_dict(
    kind: type[Config], content: object, where: str, default: Config | None = None
) -> Config:
    """Build a dataclass from nested mappings, on top of `default`; unknown names and wrong types are errors."""
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


def to_dict(config: object) -> dict[str, Any]:
    """Return nested plain values, ready for YAML or JSON."""
    return {
        field.name: _plain(getattr(config, field.name))
        for field in dataclasses.fields(config)  # type: ignore[arg-type]  # config is a dataclass instance
    }


def to_yaml(config: object) -> str:
    """Return the resolved configuration as `read` takes it."""
    return yaml.safe_dump(to_dict(config), sort_keys=False)


def write(config: object, path: Path) -> None:
    """Write the resolved configuration."""
    path.write_text(to_yaml(config))


def load(path: Path) -> Mapping[str, Any]:
    """Read the names and values of a YAML file, as they are; an empty file has none."""
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}. Expected a YAML file.") from error
    except (
        yaml.YAMLError,
        ValueError,
        RecursionError,
    ) as error:  # a date that is none is a ValueError
        raise ConfigError(f"{path}: not valid YAML. {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, Mapping):
        raise ConfigError(f"{path}: expected names with values, found {content!r}.")
    return content or {}


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
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
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    plain = origin is None and isinstance(
        hint, type
    )  # to Python 3.10 tuple[float, float] is a type, too
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
