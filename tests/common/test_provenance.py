"""Versions and commit of the software."""

from __future__ import annotations

import importlib.metadata
import os
import platform

import pytest

from solo_doi import __version__
from solo_doi.common import provenance


def test_versions_are_those_that_are_installed() -> None:
    """The list has Python, this project and the packages that affect results."""
    found = provenance.software()
    assert found["python"] == platform.python_version()
    assert found["solo-doi"] == __version__
    assert found["numpy"] == importlib.metadata.version("numpy")


def test_a_package_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot computer has no torch."""
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "surely-not-installed"))
    assert set(provenance.software()) == {"python", "solo-doi", "commit", "numpy"}


def test_outside_of_git_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has no history; a small machine may have no git."""
    monkeypatch.setenv("GIT_DIR", os.devnull)
    assert provenance.commit() == "unknown"
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() == "unknown"
