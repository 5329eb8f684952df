"""The JSON file beside an official DOMiNiC checkpoint: how the run that wrote it was set up.

Only what a reader of the checkpoint wants to know is read; some two hundred other settings are passed over.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo_doi.errors import SoloError

ROOT = "solo_legged_gym"
NUMBERS = (int, float)


class DominicConfigError(SoloError):
    """A file that is not the configuration of a DOMiNiC run."""


@dataclass(frozen=True)
class RewardTerm:
    """Where a reward term belongs, and its shape."""

    group: int
    sigma: tuple[float, ...]
    """Its width; some terms have further numbers."""


@dataclass(frozen=True, kw_only=True)
class DominicConfig:
    """What an official run was."""

    algorithm: str
    num_skills: int
    num_observations: int
    num_actions: int
    policy_hidden: tuple[int, ...]
    value_hidden: tuple[int, ...]
    successor_hidden: tuple[int, ...]
    reward_terms: dict[str, RewardTerm]


def read_dominic_config(path: Path) -> DominicConfig:
    """Read a file such as `solo12_dominic_position.json`; nothing in it is executed."""
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise DominicConfigError(f"{path}: {error.strerror}. Expected the JSON file beside a checkpoint.") from error
    except (ValueError, RecursionError) as error:
        raise DominicConfigError(f"{path}: not valid JSON. {error}") from error
    env, network = ("env_cfg", "env"), ("train_cfg", "network")
    terms = _find(path, content, dict, "env_cfg", "rewards", "terms")
    return DominicConfig(
        algorithm=_find(path, content, str, "train_cfg", "algorithm_name"),
        num_skills=_count(path, content, *env, "num_skills"),
        num_observations=_count(path, content, *env, "num_observations"),
        num_actions=_count(path, content, *env, "num_actions"),
        policy_hidden=_counts(path, content, *network, "policy_hidden_dims"),
        value_hidden=_counts(path, content, *network, "value_hidden_dims"),
        successor_hidden=_counts(path, content, *network, "succ_feat_hidden_dims"),
        reward_terms={name: _term(path, name, text) for name, text in terms.items()},
    )


def _find(path: Path, content: object, kind: type, *keys: str) -> Any:  # noqa: ANN401  # of `kind`, which is checked
    names = (ROOT, *keys)
    for depth, key in enumerate(names):
        if not isinstance(content, Mapping) or key not in content:
            raise DominicConfigError(f"{path}: has no {'.'.join(names[: depth + 1])}. Is it from another algorithm?")
        content = content[key]
    if not isinstance(content, kind):
        raise DominicConfigError(f"{path}: {'.'.join(names)} is {content!r}, expected a {kind.__name__}.")
    return content


def _count(path: Path, content: object, *keys: str) -> int:
    return _checked_count(path, keys[-1], _find(path, content, int, *keys))


def _counts(path: Path, content: object, *keys: str) -> tuple[int, ...]:
    return tuple(_checked_count(path, keys[-1], value) for value in _find(path, content, list, *keys))


def _checked_count(path: Path, name: str, value: object) -> int:
    if type(value) is not int or value < 1:  # `type`, since True is an int too
        raise DominicConfigError(f"{path}: {name} has {value!r}, expected whole numbers of 1 or more.")
    return value


def _term(path: Path, name: str, text: str) -> RewardTerm:
    """Parse "[group, sigma]" or "[group, [sigma, ...]]": the official file keeps them as text."""
    try:
        group, sigma = ast.literal_eval(text)
        numbers = sigma if isinstance(sigma, list) else [sigma]
        if type(group) is int and group >= 0 and numbers and all(type(number) in NUMBERS for number in numbers):
            return RewardTerm(group, tuple(map(float, numbers)))
    except (
        ValueError,
        TypeError,
        SyntaxError,
        MemoryError,
        RecursionError,
        OverflowError,
    ):  # not a literal, not a pair
        pass
    expected = 'text such as "[1, 0.5]" or "[2, [5, 0.9]]"'
    raise DominicConfigError(f"{path}: reward term {name!r} is {text!r}, expected {expected}.")
