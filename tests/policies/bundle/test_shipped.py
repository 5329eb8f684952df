"""Bundles by name: files first, then bundles of the package; others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle import shipped
from solo_doi.policies.bundle.shipped import SHIPPED, find_bundle


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two bundles, and a folder to work in."""
    skills, here = tmp_path / "skills", tmp_path / "here"
    for name in ("steerable", "locomotion"):
        (skills / name).mkdir(parents=True)
        (skills / name / "skills.onnx").touch()
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(shipped, "SKILLS_FOLDER", skills)
    return skills


def test_names_of_the_package_are_files_of_it(known: Path) -> None:
    """The default bundle has a name as well."""
    assert find_bundle(None) == SHIPPED
    assert find_bundle(Path("steerable")) == known / "steerable" / "skills.onnx"
    assert SHIPPED.parent.name == "locomotion"


def test_files_have_priority_over_names(known: Path) -> None:
    """An existing file of that name has priority; a name with a suffix or folder is a file."""
    Path("steerable").touch()
    for path in (Path("steerable"), Path("other.onnx"), Path("elsewhere/steerable")):
        assert find_bundle(path) == path


def test_other_names_are_refused(known: Path) -> None:
    """The error lists the known names."""
    with pytest.raises(SoloError) as error:
        find_bundle(Path("dance"))
    assert str(error.value) == (
        "dance: no such file, nor a bundle that comes with the package. "
        "Those are: locomotion, steerable."
    )


def test_directories_are_refused(known: Path) -> None:
    """The message names the bundle inside, if there is one, and the bundles of the package."""
    Path("steerable").mkdir()
    expected = (
        "steerable: a directory. Expected a bundle{} "
        "Those that come with the package are: locomotion, steerable."
    )
    for hint in (".", "; did you mean steerable/skills.onnx?"):
        with pytest.raises(SoloError) as error:
            find_bundle(Path("steerable"))
        assert str(error.value) == expected.format(hint)
        Path("steerable/skills.onnx").touch()
