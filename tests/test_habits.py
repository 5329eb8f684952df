"""Tools of contributors agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()


def dev_version(package: str) -> str:
    """Return the version that the dev extra pins."""
    (pin,) = [item for item in PROJECT["optional-dependencies"]["dev"] if item.startswith(package)]
    return pin.removeprefix(f"{package}==")


def test_pre_commit_uses_the_versions_of_the_dev_extra() -> None:
    repositories = yaml.safe_load(HOOKS)["repos"]
    assert repositories[0]["rev"] == f"v{dev_version('ruff')}"
    assert [hook["id"] for hook in repositories[0]["hooks"]] == ["ruff-check", "ruff-format"]
    assert repositories[1]["hooks"][0]["name"] == f"mypy {dev_version('mypy')}"


def test_the_test_command_runs_everything() -> None:
    """CI evaluates this line of the README."""
    block = (ROOT / "README.md").read_text().split("<!-- test-command -->")[1]
    (command,) = re.findall(r"^python3.*$", block.split("```")[1], re.MULTILINE)
    assert command.endswith('pytest -n 2 -m ""')
    assert '-e ".[dev]"' in command


def test_ci_leaves_the_environment_of_a_contributor_alone() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "rm -rf .venv" not in script
    assert 'cd "$copy/solo-doi"' in script


def test_the_coverage_floor_only_rises() -> None:
    lines = (ROOT / ".ci" / "coverage-floor").read_text().splitlines()
    (floor,) = [float(line) for line in lines if not line.startswith("#")]
    assert 95 <= floor <= 100


@pytest.mark.parametrize("key", ["Homepage", "Issues", "Changelog"])
def test_the_project_has_addresses(key: str) -> None:
    assert PROJECT["urls"][key].startswith("https://github.com/solo-doi/solo-doi")
