"""All commands: help texts, sub-commands, versions, examples."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import subprocess
import sys
import textwrap
import typing
from collections.abc import Iterator

import pytest

import collect.cli.collect
import collect.cli.pretrain
import deploy.cli.demo
import deploy.cli.deploy
import deploy.cli.doctor
import solo_doi.cli.evaluate
import solo_doi.cli.export
import solo_doi.cli.sweep
import solo_doi.cli.train
from solo_doi import __version__
from solo_doi.common.command_line import Program
from tests.command import Command
from tests.compatibility.entry_points import PROJECT, entry_point

PROGRAMS: dict[str, Program] = {
    module.PROGRAM.name: module.PROGRAM
    for module in (
        collect.cli.collect,
        collect.cli.pretrain,
        deploy.cli.demo,
        deploy.cli.deploy,
        deploy.cli.doctor,
        solo_doi.cli.evaluate,
        solo_doi.cli.export,
        solo_doi.cli.sweep,
        solo_doi.cli.train,
    )
}


def commands() -> Iterator[tuple[str, type]]:
    """Return every command and sub-command with the dataclass of its settings."""
    for name, program in PROGRAMS.items():
        yield name, program.load().kind
        for verb in program.verbs:
            yield f"{name} {verb.name}", verb.load().kind


COMMANDS = dict(commands())


def described(kind: type) -> set[str]:
    """Return the names of fields with a string literal under them, in a class and its parents."""
    found: set[str] = set()
    for base in kind.__mro__:
        if not dataclasses.is_dataclass(base):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, after in zip(definition.body, definition.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = after.value if isinstance(after, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found.add(field.target.id)
    return found


def without_help(kind: type, prefix: str = "") -> list[str]:
    """Return settings without a help text; a nested dataclass is described by its docstring."""
    missing = []
    hints = typing.get_type_hints(kind)
    texts = described(kind)
    for field in dataclasses.fields(kind):
        nested = hints[field.name]
        if dataclasses.is_dataclass(nested) and isinstance(nested, type):
            missing += without_help(nested, f"{prefix}{field.name}.")
        elif field.name not in texts:
            missing.append(f"{kind.__name__}: {prefix}{field.name}")
    return missing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_setting_has_a_help_text(name: str) -> None:
    assert without_help(COMMANDS[name]) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(name: str) -> None:
    text = COMMANDS[name].__doc__ or ""
    assert "Example" in text
    assert f"  {name}" in text.replace("Example: ", "  ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_help_and_version(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *verb = name.split()
    command = Command(program, entry_point(program), monkeypatch, capsys)
    assert command.good(*verb, "--version") == f"{name} {__version__}\n"
    text = command.good(*verb, "--help")
    assert text.startswith(f"usage: {name} ")
    if not verb:
        for other in PROGRAMS[program].verbs:
            assert f"{program} {other.name}: {other.summary}" in text
    assert "{True,False}" not in text


@pytest.mark.parametrize("name", ["solo-pretrain", "solo-export"])
def test_help_may_be_cut_by_its_reader(name: str) -> None:
    """`solo-train --help | head` ends without a traceback."""
    code = f"from {entry_point(name).__module__} import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", PROGRAMS)
def test_misspelt_flags_and_sub_commands_are_corrected(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line with the nearest name."""
    command = Command(name, entry_point(name), monkeypatch, capsys)
    needed = ["run"] if name == "solo-export" else []
    code, _, errors = command(*needed, "--otu", "somewhere")
    assert code == 2
    assert errors.count("\n") == 1
    assert "--otu" in errors
    assert "Did you mean --out?" in errors
    for verb in PROGRAMS[name].verbs:
        misspelt = verb.name[:-1]
        found = command.error(misspelt)
        assert found.startswith(f"Unknown sub-command {misspelt!r}. Did you mean {verb.name!r}?")


@pytest.mark.parametrize("name", PROGRAMS)
def test_shells_can_complete_commands(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The completion script contains flags and sub-commands."""
    command = Command(name, entry_point(name), monkeypatch, capsys)
    script = command.good("--tyro-print-completion", "bash")
    assert "--out" in script
    for verb in PROGRAMS[name].verbs:
        assert verb.name in script


def test_all_installed_commands_are_tested() -> None:
    assert {*PROJECT["scripts"]} == {*PROGRAMS}
