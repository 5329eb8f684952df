"""Reader of the repository's Markdown pages: links, headings, code blocks, linked symbols."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (".github", "collect", "configs", "deploy", "docker", "solo_doi", "tests")
FENCE = re.compile(r"^\s*```(\w*)[^\n]*\n(.*?)^\s*```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
REMOTE = ("http://", "https://", "mailto:")


def pages() -> list[Path]:
    """List all Markdown pages of the repository."""
    found = list(ROOT.glob("*.md"))
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*.md")
    return sorted(found)


def links(text: str) -> list[str]:
    """List the targets of relative links and images outside of code blocks."""
    targets = LINK.findall(FENCE.sub("", text))
    return [target for target in targets if not target.startswith(REMOTE)]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes from the headings of a page."""
    found = set()
    for line in FENCE.sub("", text).splitlines():
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def symbols(source: str) -> set[str]:
    """Return names that a module defines: functions, classes, constants, `Class.member`."""
    found = set()
    for node in ast.parse(source).body:
        names = _names(node)
        found |= names
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                found |= {f"{node.name}.{name}" for name in _names(member)}
    return found


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Assign):
        targets = list(node.targets)
    else:
        return set()
    return {
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    }
