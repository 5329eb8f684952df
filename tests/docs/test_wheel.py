"""The wheel has code and shipped policies, but no documents or figures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.compatibility.entry_points import PROJECT

from .markdown import ROOT

SCRIPTS = PROJECT["scripts"].items()
PACKAGES = ("collect", "configs", "deploy", "solo_doi")
FILES = ("LICENSE", "README.md", "pyproject.toml")
DOCUMENTS = (".csv", ".ipynb", ".md", ".png", ".webp")
BUILD = "import sys; from setuptools import build_meta; build_meta.{name}(sys.argv[1])"
"""Program that builds a `wheel` or an `sdist` of the current directory."""
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
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, because a build writes into its source."""
    setuptools = pytest.importorskip("setuptools")
    if int(setuptools.__version__.split(".")[0]) < 77:
        pytest.skip("setuptools before 77 cannot read the licence in pyproject.toml")
    folder = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in FILES:
        shutil.copy(ROOT / file, folder / file)
    return folder


def build(name: str, source: Path, target: Path) -> Path:
    """Build a wheel or an sdist of a folder."""
    environment = os.environ | {"PYTHONPATH": ""}
    command = [sys.executable, "-c", BUILD.format(name=name), str(target)]
    built = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (file,) = target.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    return build("build_wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the files of the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


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


def test_a_wheel_of_the_sdist_is_the_same(source: Path, content: set[str], tmp_path: Path) -> None:
    """A build from the sdist has every file of the wheel."""
    for folder in ("sdist", "unpacked", "wheel"):
        (tmp_path / folder).mkdir()
    sdist = build("build_sdist", source, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    with zipfile.ZipFile(build("build_wheel", unpacked, tmp_path / "wheel")) as archive:
        assert set(archive.namelist()) == content


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        *((place.partition(":")[0], ["--help"], f"usage: {name}") for name, place in SCRIPTS),
        ("deploy.cli.deploy", ["install-robot", "--help"], "usage: solo-deploy install-robot"),
        ("deploy.cli.deploy", ["--mock", "--fast", "--seconds", "0.1"], "report: runs/deploy-"),
        ("deploy.cli.doctor", ["--version"], "solo-doctor "),
        ("solo_doi.cli.export", ["verify", "locomotion"], "locomotion: "),
        ("collect.cli.pretrain", ["--config", "pretrain/skills", "--help"], "(default: 5)"),
        ("collect.cli.pretrain", ["--config=configs/pretrain/skills.yaml", "-h"], "(default: 5)"),
    ],
)
def test_commands_run_from_the_wheel(
    installed: Path, tmp_path: Path, program: str, words: list[str], expected: str
) -> None:
    """The commands run in an empty directory and use only installed packages."""
    main = "train_main" if program == "solo_doi.cli.train" else "main"
    code = f"import {program} as cli; print(cli.__file__, flush=True); cli.{main}()"
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(installed))
    assert expected in " ".join(ran.stdout.split())
