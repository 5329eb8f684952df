"""Commands by their installed names."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def entry_point(name: str) -> Callable[[], object]:
    """Return the function that an installed command calls."""
    module, _, function = PROJECT["scripts"][name].partition(":")
    return getattr(importlib.import_module(module), function)
