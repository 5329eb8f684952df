"""Docker files: names and versions in them are checked, since tests cannot build images."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMAGES = sorted(path.parent.name for path in (ROOT / "docker").glob("*/Dockerfile"))
BROUGHT = {"isaacgym"}
"""Folders that the user unpacks first; the image's README describes this."""


def lines(image: str) -> list[list[str]]:
    """Return the instructions of an image, split into words."""
    text = (ROOT / "docker" / image / "Dockerfile").read_text().replace("\\\n", " ")
    return [
        shlex.split(line, comments=True)
        for line in text.splitlines()
        if line and not line.startswith("#")
    ]


def copied(image: str) -> set[str]:
    """Return the files that an image copies from this repository."""
    return {source for line in lines(image) if line[0] == "COPY" for source in line[1:-1]}


def test_there_is_one_image_per_environment() -> None:
    """The project has three Python environments."""
    assert IMAGES == ["isaacgym", "lab", "robot"]


@pytest.mark.parametrize("image", IMAGES)
def test_copied_files_exist(image: str) -> None:
    """The README contains the build command and the state of the image."""
    missing = {source for source in copied(image) - BROUGHT if not (ROOT / source).exists()}
    assert missing == set()
    readme = (ROOT / "docker" / image / "README.md").read_text()
    assert f"docker build -f docker/{image}/Dockerfile" in readme
    assert "**Not built" in readme


def test_the_robots_image_has_only_the_files_of_an_installation() -> None:
    """It copies the project file and the files named there, the library and this application."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {"pyproject.toml", project["readme"], *project["license-files"]}
    assert copied("robot") == named | {"solo_doi", "deploy"}


@pytest.mark.parametrize("image", ["lab", "robot"])
def test_versions_are_written_elsewhere(image: str) -> None:
    """Versions are in the constraints and in the robot's requirements."""
    words = [word for line in lines(image) for word in line]
    assert not any("==" in word for word in words)
    assert "deploy.install.install_robot" in words or "install-robot" in words
    constraints = [word for word in words if word.endswith("constraints.txt")]
    assert all((ROOT / word.removeprefix("/opt/solo-doi/")).is_file() for word in constraints)
    assert bool(constraints) == (image == "lab")


def test_the_robots_readme_makes_the_files_it_mounts() -> None:
    """Separate commands create key and calibration before the robot walks.

    Files inside the container are lost with it.
    """
    text = (ROOT / "docker" / "robot" / "README.md").read_text()
    made, walk = text.split("robot --skill", 1)
    words = walk.split("\n", 1)[0].split()
    assert f"robot keygen {words[words.index('--key') + 1]}\n" in made
    measured = next(line for line in made.splitlines() if "robot calibrate" in line)
    assert f"--out {words[words.index('--calibration') + 1]} " in measured
    assert "$PWD:/data" in made
