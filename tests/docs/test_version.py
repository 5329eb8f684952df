"""Code, changelog and citation name the same version."""

from __future__ import annotations

import re

import yaml

import solo_doi

from .markdown import ROOT


def test_changelog_begins_with_the_version() -> None:
    """Changes after the version stand above it, as Keep a Changelog has them."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    if headings[0] == "Unreleased":
        headings = headings[1:]
    assert headings[0] == f"{solo_doi.__version__} - {citation['date-released']}"


def test_citation_has_the_version_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == solo_doi.__version__
    paper = citation["preferred-citation"]
    assert paper["title"] == "Offline Diversity Maximization Under Imitation Constraints"
    assert [author["family-names"] for author in paper["authors"]] == [
        "Vlastelica",
        "Cheng",
        "Martius",
        "Kolev",
    ]
