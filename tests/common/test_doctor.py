"""Judgement of findings, and the check of a package."""

from __future__ import annotations

import json
import sys

import pytest

from solo_doi.common.doctor import (
    Finding,
    Health,
    HealthCheck,
    Purpose,
    diagnose,
    fix_command,
    package_check,
)

BAD = Finding(False, "absent", "repair it")


@pytest.mark.parametrize(
    ("finding", "needed_for", "purpose", "health"),
    [
        (Finding(True, "1.0"), ("train",), "train", Health.GOOD),
        (BAD, ("train",), "train", Health.MISSING),
        (BAD, ("train",), "deploy", Health.OPTIONAL),
        (BAD, ("train",), None, Health.MISSING),
        (BAD, (), None, Health.OPTIONAL),
        (BAD, (), "train", Health.OPTIONAL),
    ],
)
def test_the_purpose_decides_what_must_be_fixed(
    finding: Finding, needed_for: tuple[Purpose, ...], purpose: Purpose | None, health: Health
) -> None:
    check = HealthCheck("thing", "a use", lambda: finding, frozenset(needed_for))
    (line,) = diagnose([check], purpose)
    assert line.health is health
    content = line.to_json()
    assert json.loads(json.dumps(content)) == content
    assert content["fix"] == finding.fix


def test_a_package_is_imported_in_a_child_process() -> None:
    """Another process imports it: `colorsys` is not loaded here by the check."""
    sys.modules.pop("colorsys", None)
    check = package_check("it", "colorsys", "", install="it", program="print('seen')")
    assert check.look() == Finding(True, "seen")
    assert "colorsys" not in sys.modules


@pytest.mark.parametrize(
    ("package", "program", "found"),
    [
        ("no_such_package", "", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("os", "os.abort()", "exit code -6"),
    ],
)
def test_a_broken_package_has_a_reason_and_a_command(
    package: str, program: str, found: str
) -> None:
    """The doctor survives a library that crashes the interpreter."""
    finding = package_check("it", package, "", install="it", program=program).look()
    assert (finding.good, finding.found) == (False, found)
    assert finding.fix.endswith("-m pip install it")


def test_the_command_installs_into_this_environment() -> None:
    assert fix_command("'numpy>=2'") == f"{sys.executable} -m pip install 'numpy>=2'"
    assert fix_command("sudo apt install x") == "sudo apt install x"
