"""Source files of the packages, by module name, and their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPLICATIONS = ("solo_doi", "collect", "deploy")


def within(name: str, packages: frozenset[str] | set[str] | tuple[str, ...]) -> bool:
    """Return True if a dotted name is one of the packages or lies inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def imported(source: str, module: str, *, is_package: bool) -> Iterator[str]:
    """Return the absolute dotted names of all imports of a module, at any place in its text."""
    parents = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) - node.level + 1] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            yield from (f"{start}.{alias.name}" for alias in node.names)


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the repository."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {
    module_name(path): path
    for folder in APPLICATIONS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def import_graph() -> dict[str, set[str]]:
    """Return the imports of each of our modules, limited to our modules."""
    graph: dict[str, set[str]] = {}
    for module, path in FILES.items():
        found = set()
        for name in imported(path.read_text(), module, is_package=path.name == "__init__.py"):
            while name and name not in FILES:
                name = name.rpartition(".")[0]
            found.add(name)
        graph[module] = found - {"", module}
    return graph
