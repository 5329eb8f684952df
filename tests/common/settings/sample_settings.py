"""Settings of every kind, with a file for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A nested part."""

    rate: float = 0.5
    """Rate of the part."""
    labels: tuple[str, ...] = ("a",)
    """Labels of the part."""


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
    """Write a configuration file."""
    path = path / "settings.yaml"
    path.write_text(text)
    return path
