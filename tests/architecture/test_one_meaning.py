"""A constant or class of a module has a name that no other module uses for something else."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from .source_files import FILES, within

ALLOWED = {
    "PROGRAM": "the program of each command",
    "CHECKS": "the checks that each package contributes to solo-doctor",
    "PROTOCOL": "the Isaac Gym worker imports nothing of ours: both sides state their version",
    "EDITED_ALL": "the same, a mark in their messages",
    "CardCommand": "settings of sub-commands are named by their verb",
    "KeygenCommand": "the same",
    "ReplayCommand": "the same",
    "VerifyCommand": "the same",
}
"""Names that several modules may define, with the reason."""
SCRIPTS = ("solo_doi.examples", "deploy.messages.generated")
"""Scripts that are read alone, and classes that lcm-gen wrote."""


def defined_names(source: str) -> Iterator[str]:
    """Return constants, type names and classes at the top level of a module."""
    for node in ast.parse(source).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
            yield from (name for name in names if name != "__all__")


def modules_of_names() -> dict[str, list[str]]:
    """Return the modules that define each name."""
    modules: dict[str, list[str]] = defaultdict(list)
    for module, path in FILES.items():
        if not within(module, SCRIPTS):
            for name in set(defined_names(path.read_text())):
                modules[name].append(module)
    return modules


def test_one_name_has_one_meaning() -> None:
    """Import a constant that is the same; qualify the name of one that is not."""
    modules = modules_of_names()
    repeated = {name: found for name, found in modules.items() if len(found) > 1}
    assert {name: found for name, found in repeated.items() if name not in ALLOWED} == {}
    assert {*ALLOWED} == {*repeated}, "an allowed name is no longer repeated"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("LIMIT = 1.0", ["LIMIT"]),
        ("LIMIT: Final = 1.0", ["LIMIT"]),
        ("FIRST, SECOND = range(2)", ["FIRST", "SECOND"]),
        ("class Link:\n    SIZE = 1", ["Link"]),
        ("def f():\n    LIMIT = 1.0", []),
        ("from other import LIMIT", []),
    ],
)
def test_definitions_are_found(source: str, names: list[str]) -> None:
    assert list(defined_names(source)) == names
