"""Names, argument orders and defaults of the double against the published stubs of Preview 4."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .interpreters import HERE

DESCRIBE = """
import inspect, json
from dataclasses import fields, is_dataclass
from isaacgym import gymapi
methods = {
    name: [
        [p.name, None if p.default is p.empty else str(p.default)]
        for p in inspect.signature(method).parameters.values()
    ]
    for name, method in vars(gymapi.Gym).items() if not name.startswith("_")
}
structures = {
    name: [f.name for f in fields(kind)] for name, kind in vars(gymapi).items()
    if is_dataclass(kind) and kind.__module__ == "isaacgym._types"
}
public = {name: value for name, value in vars(gymapi).items() if name.isupper()}
constants = {name: value.name for name, value in public.items() if name[0] != "_"}
print(json.dumps([methods, structures, constants]))
"""


@cache
def described() -> tuple[dict[str, list[list[str | None]]], dict[str, list[str]], dict[str, str]]:
    """Return the double's methods with arguments, structures with fields, and constants."""
    command = [
        sys.executable,
        "-c",
        DESCRIBE,
    ]  # in another process: here torch may be loaded already
    result = subprocess.run(
        command, env={"PYTHONPATH": str(HERE)}, capture_output=True, text=True, check=True
    )
    return tuple(json.loads(result.stdout))


@cache
def stubs() -> dict[str, ast.ClassDef | ast.AnnAssign]:
    """Return the top-level names of the stubs."""
    files = importlib.metadata.files("isaacgym-stubs") or []
    path = next(Path(str(file.locate())) for file in files if file.name == "gymapi.pyi")
    text = path.read_text().replace(
        "def lambda(", "def lambda_("
    )  # a field with that name is not valid Python
    names: dict[str, ast.ClassDef | ast.AnnAssign] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
    return names


def members(name: str) -> dict[str, ast.stmt]:
    """Return methods and fields of a class of the stubs."""
    found: dict[str, ast.stmt] = {}
    kind = stubs()[name]
    assert isinstance(kind, ast.ClassDef)
    for node in kind.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def documented(name: str) -> list[tuple[str, str | None]]:
    """Return arguments and defaults of a method, from the signature in its documentation."""
    method = members("Gym")[name]
    assert isinstance(method, ast.FunctionDef)
    signature = (ast.get_docstring(method) or "").splitlines()[0]
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    found: list[tuple[str, str | None]] = []
    for part in re.split(r", (?=\w+: )", inside):
        declared, _, default = part.partition(" = ")
        found.append((declared.partition(":")[0], default.replace(" ", "") or None))
    return found


@pytest.mark.parametrize("name", described()[0])
def test_a_method_has_the_arguments_and_defaults_of_the_real_one(name: str) -> None:
    """The order matters, because most arguments have no name in Isaac Gym."""
    ours, theirs = described()[0][name], documented(name)
    assert [argument for argument, _ in ours] == [argument for argument, _ in theirs]
    for (argument, default), (_, real) in zip(ours, theirs, strict=True):
        if real is not None and real.startswith(
            "<SimParams"
        ):  # an object: the double creates an equal one
            continue
        short = None if real is None else real.rpartition(".")[2]
        members_of = {"SIM_FLEX": "1", "ENV_SPACE": "0"}
        assert default in (real, short, members_of.get(short or "")), argument


@pytest.mark.parametrize("name", described()[1])
def test_a_structure_has_no_field_that_the_real_one_lacks(name: str) -> None:
    """A field that exists only in the double would have no effect in Isaac Gym."""
    assert set(described()[1][name]) <= set(members(name))


@pytest.mark.parametrize("name", described()[2])
def test_a_constant_exists_and_means_itself(name: str) -> None:
    """Constants have different values."""
    assert name in stubs()
    assert described()[2][name] == name


def test_differences_are_found() -> None:
    """The parser of the stubs finds an unexpected default and an unknown name."""
    assert documented("create_sim")[3] == ("type", "SimType.SIM_FLEX")
    assert documented("create_actor")[5:7] == [("group", "-1"), ("filter", "-1")]
    assert "up_axis" in members("SimParams")
    assert "up_axes" not in members("SimParams")
