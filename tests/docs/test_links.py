"""Relative links of all pages resolve: files, headings, and symbols of linked modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from .markdown import ROOT, anchors, links, pages, symbols


def resolves(page: Path, target: str) -> bool:
    """Check that the target's file exists, and that it has the heading or symbol."""
    file, _, anchor = target.partition("#")
    path = (page.parent / file).resolve() if file else page
    if not path.exists() or not path.is_relative_to(ROOT):
        return False
    if anchor and path.suffix == ".md":
        return anchor in anchors(path.read_text())
    if anchor and path.suffix == ".py":
        return anchor in symbols(path.read_text())
    return True


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_resolve(page: Path) -> None:
    broken = [target for target in links(page.read_text()) if not resolves(page, target)]
    assert broken == []


def test_symbols_of_a_module_are_found() -> None:
    """Symbols are functions, classes, constants, annotated fields and methods; not nested names."""
    source = (
        "A = 1\nb: int = 2\nclass C:\n    field: int = 3\n    def method(self):\n        x = 1\n"
    )
    assert symbols(source) == {"A", "b", "C", "C.field", "C.method"}


def test_anchors_are_those_of_github() -> None:
    """Anchors have lower case, dashes for spaces and no punctuation; code blocks have none."""
    text = "# One two: three's\n```bash\n# comment\n```\n## `code`, more\n"
    assert anchors(text) == {"one-two-threes", "code-more"}
