"""The worker's source: Python 3.8, three packages, and no constants of the robot."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collect.isaac_setup import ISAAC_WORKER
from solo_doi.solo12 import constants, limits

FILES = sorted(ISAAC_WORKER.rglob("*.py"))
HARMLESS = {0, 1, 2, 3, 6, 13, 1000.0}
"""Zero and one, axes and halves, columns of force sensors and root states, and "no limit"."""
ABOUT_GPUS = {"device.py": {8}}
NAMES = re.compile(r"\b([FH][LR]\w*|\w*(HAA|HFE|KFE|FOOT|SHOULDER|_LEG)|base_link|solo12?)\b")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_grammar_is_that_of_python_3_8(path: Path) -> None:
    """For example, `match` and parenthesised context managers are not allowed."""
    ast.parse(path.read_text(), feature_version=(3, 8))


def test_a_newer_grammar_would_be_found() -> None:
    """This shows that the test above can fail."""
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n    case 1: pass", feature_version=(3, 8))


def vermin(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run vermin, which determines the Python version that a folder needs."""
    # As a module: the script may belong to another environment.
    program = "from vermin import main; main()"
    command = [sys.executable, "-c", program, "-t=3.8-", "--no-tips", "--violations", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_library_is_that_of_python_3_8() -> None:
    """Functions, arguments and operators of later versions are not allowed."""
    result = vermin(ISAAC_WORKER)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("line", ["'a'.removeprefix('a')", "zip([], [], strict=True)", "{} | {}"])
def test_a_newer_library_would_be_found(line: str, tmp_path: Path) -> None:
    """This shows that the test above can fail."""
    (tmp_path / "new.py").write_text(f"x = {line}\n")
    result = vermin(tmp_path)
    assert result.returncode == 1
    assert "Target versions not met" in result.stdout


def numbers(source: str) -> set[float]:
    """Return all numbers in a source."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            found.add(node.value)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_number_about_the_robot_is_written_in_the_worker(path: Path) -> None:
    """Robot parameters come with the client's first message, from their single definition."""
    assert numbers(path.read_text()) - HARMLESS - ABOUT_GPUS.get(path.name, set()) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_name_of_the_robot_is_written_in_the_worker(path: Path) -> None:
    """Names of joints and bodies come from the client."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    ]
    named = [
        text
        for text in texts
        if isinstance(text, str) and NAMES.search(text.replace("solo_isaac", ""))
    ]
    assert named == []


def test_a_number_or_name_would_be_found() -> None:
    """Gains, gravity and limits are found; joints and links are recognised."""
    setup = constants.CONTROL_SETUPS["locomotion"]
    for number in (
        setup.kp,
        setup.kd,
        constants.GRAVITY,
        constants.PHYSICS_DT,
        limits.TRAINING_LIMITS.torque,
    ):
        assert numbers(f"x = {number}") - HARMLESS
    for name in (*constants.JOINT_NAMES, *constants.FOOT_NAMES, *constants.BODY_NAMES):
        assert NAMES.search(name), name
