"""The wheel has code and shipped policies, but no documents or figures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .markdown import ROOT

PACKAGES = ("collect", "configs", "deploy", "solo_doi")
FILES = ("LICENSE", "README.md", "pyproject.toml")
DOCUMENTS = (".csv", ".ipynb", ".md", ".png", ".webp")
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
NEEDED = {
    "collect/checkpoints/locomotion/expert.pt",
    "deploy/console/page/page.css",
    "deploy/console/page/page.html",
    "deploy/console/page/page.js",
    "deploy/console/page/plots.js",
    "deploy/install/robot-requirements.txt",
    "solo_doi/configs/pretrain/skills.yaml",
    "solo_doi/configs/sweep/ablation.yaml",
    "solo_doi/py.typed",
    "solo_doi/skills/locomotion/skills.onnx",
    "solo_doi/skills/locomotion/evaluation/metrics.json",
    "solo_doi/skills/steerable/skills.onnx",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a copy because a build writes into its source."""
    setuptools = pytest.importorskip("setuptools")
    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip("setuptools before 77 cannot read the licence in pyproject.toml")
    source = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in FILES:
        shutil.copy(ROOT / file, source / file)
    target = tmp_path_factory.mktemp("wheel")
    environment = os.environ | {"PYTHONPATH": ""}
    command = [sys.executable, "-c", BUILD, str(target)]
    built = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (built_wheel,) = Path(target).glob("*.whl")
    return built_wheel


@pytest.fixture(scope="module")
def content(wheel: Path) -> set[str]:
    """Names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_has_no_documents(content: set[str]) -> None:
    assert [name for name in sorted(content) if name.endswith(DOCUMENTS)] == []
    assert [name for name in sorted(content) if "/docs/" in name] == []


def test_wheel_has_what_the_commands_need(content: set[str]) -> None:
    assert NEEDED - content == set()


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("solo_doi.cli.export", ["verify", "locomotion"], "locomotion: "),
        ("collect.cli.pretrain", ["--config", "pretrain/skills", "--help"], "(default: 5)"),
        ("collect.cli.pretrain", ["--config=configs/pretrain/skills.yaml", "-h"], "(default: 5)"),
    ],
)
def test_commands_run_from_the_wheel(
    wheel: Path, tmp_path: Path, program: str, words: list[str], expected: str
) -> None:
    """The commands run in an empty directory and use only installed packages."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    here = tmp_path / "here"
    here.mkdir()
    code = f"import {program} as cli; print(cli.__file__); cli.main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=here,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(tmp_path / "installed"))
    assert expected in " ".join(ran.stdout.split())
