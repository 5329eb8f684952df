"""Packages have no import cycles, and no folder is too large to read."""

from __future__ import annotations

import pytest

from .source_files import APPLICATIONS, FILES, ROOT, import_graph


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of nodes that reach each other."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for following in graph.get(waiting.pop(), set()) - seen:
                seen.add(following)
                waiting.append(following)
        return seen

    reached = {node: reachable(node) for node in graph}
    groups = [
        {other for other in reached[node] if node in reached.get(other, set())} for node in graph
    ]
    return [group for group in groups if group]


def package_of(module: str) -> str:
    """Return the package that contains a module."""
    return module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]


def test_no_module_imports_itself_through_others() -> None:
    """Modules of a cycle cannot be read, moved or tested separately."""
    assert not cycles(import_graph())


def test_no_package_imports_itself_through_others() -> None:
    """Of any two packages, at most one imports the other."""
    between: dict[str, set[str]] = {}
    for module, targets in import_graph().items():
        others = {package_of(target) for target in targets} - {package_of(module)}
        between.setdefault(package_of(module), set()).update(others)
    assert not cycles(between)


def test_a_planted_cycle_is_found() -> None:
    """Three modules form a cycle; a fourth is outside it."""
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})[0] == {"a", "b", "c"}
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_library_module_imports_a_command() -> None:
    """Code that several commands need belongs into the library."""
    graph = import_graph()
    importers = {
        module
        for module, targets in graph.items()
        if any(".cli." in f"{target}." for target in targets)
    }
    assert {module for module in importers if ".cli." not in f"{module}."} == set()


@pytest.mark.parametrize("top", APPLICATIONS)
def test_no_folder_holds_more_than_twenty_modules(top: str) -> None:
    """A short folder listing helps to find a module."""
    folders = [path.parent for path in (ROOT / top).rglob("*.py") if path.name != "__init__.py"]
    assert max(folders.count(folder) for folder in folders) <= 20
