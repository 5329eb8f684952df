"""A wheel that is written from installed files installs the same files again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from deploy.install.installed_wheel import write_wheel
from solo_doi import __version__
from solo_doi.common.errors import SoloError

ROOT = Path(__file__).parents[3]
PIP = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--quiet"]
OLDEST_SETUPTOOLS = 77
"""The oldest version that pyproject.toml allows."""
QUICK = ["--no-index", "--no-deps", "--ignore-requires-python"]


def pip(*words: str | Path) -> None:
    """Run pip without a network."""
    ran = subprocess.run([*PIP, *words], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Return all installed files but those that depend on the installation."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if (
            path.is_file()
            and path.suffix != ".pyc"
            and path.name not in ("RECORD", "direct_url.json")
        ):
            found[name] = path.read_bytes()
    return found


def copied_project(folder: Path) -> Path:
    """Copy the sources of a wheel, since building writes into its folder."""
    if int(metadata.version("setuptools").partition(".")[0]) < OLDEST_SETUPTOOLS:
        pytest.skip(f"setuptools is older than {OLDEST_SETUPTOOLS}")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("solo_doi", "collect", "deploy"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    return source


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the running interpreter find the project in a folder only."""
    monkeypatch.setattr(sys, "path", [str(folder)])


def test_the_project_survives_two_installations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are equal after checkout, wheel, installation, wheel, installation."""
    source = copied_project(tmp_path)
    pip("wheel", *QUICK, "--no-build-isolation", "--wheel-dir", tmp_path, source)
    built = tmp_path / f"solo_doi-{__version__}-py3-none-any.whl"
    first, second = tmp_path / "first", tmp_path / "second"
    pip("install", *QUICK, "--target", first, built)
    installed(first, monkeypatch)
    (tmp_path / "again").mkdir()
    again = write_wheel(tmp_path / "again")
    assert again.name == built.name
    pip("install", *QUICK, "--target", second, again)
    assert contents(second) == contents(first)
    assert {"bin/solo-deploy", "deploy/install/robot-requirements.txt"} <= contents(second).keys()


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the wheel would lack the file."""
    info = tmp_path / "solo_doi-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: solo-doi\nVersion: 1\n")
    (info / "RECORD").write_text("deploy/gone.py,,\nsolo_doi-1.dist-info/METADATA,,\n")
    installed(tmp_path, monkeypatch)
    with pytest.raises(SoloError, match=r"gone.py: cannot be read \(No such file or directory\)"):
        write_wheel(tmp_path)
