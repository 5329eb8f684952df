"""Paths of files and modules that pages name in code style exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from .markdown import ROOT, pages

PATH = re.compile(r"(?<![\w/.-])((?:collect|configs|deploy|docker|solo_doi|tests)/[\w./-]*\w)")
MODULE = re.compile(r"python3? -m ((?:collect|deploy|solo_doi|tests)[\w.]*)")
PAGES = [
    page for page in pages() if page.name != "CHANGELOG.md" and "compatibility" not in page.parts
]


def missing(text: str) -> list[str]:
    """List paths and modules that do not exist; a path may name the files that begin with it."""
    paths = [path for path in PATH.findall(text) if not any(ROOT.glob(f"{path}*"))]
    modules = [name for name in MODULE.findall(text) if importlib.util.find_spec(name) is None]
    return paths + modules


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_paths_exist(page: Path) -> None:
    assert missing(page.read_text()) == []


def test_a_missing_path_is_found() -> None:
    text = (
        "`deploy/no_such.py`, `python -m tests.no_such`, `solo_doi/docs`, `python -m tests.bench`"
    )
    assert missing(text) == ["deploy/no_such.py", "tests.no_such"]
