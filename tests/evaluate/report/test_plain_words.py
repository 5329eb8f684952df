"""Meanings in a report: every measure that is shown has one, without abbreviations."""

from __future__ import annotations

import re

from solo_doi.evaluate.report.plain_words import (
    DIVERGENCE_MEANING,
    DIVERSITY,
    PLAIN_DIVERSITY,
    TRANSFER_MEANINGS,
    WALK_MEANINGS,
    diversity_facts,
)
from solo_doi.evaluate.run_page import COLUMNS, TRANSFER_COLUMNS

ABBREVIATION = re.compile(r"\b(?:[A-Z]{2,}|sf|kl|std)\b")
METHODS = {"SMODICE", "UMAP"}
"""Names of methods, which stand in brackets behind their meaning."""


def test_every_measure_of_diversity_has_a_meaning() -> None:
    assert PLAIN_DIVERSITY.keys() == DIVERSITY.keys()


def test_every_column_has_a_meaning() -> None:
    """A column is explained under the beginning of its title or of a part of it."""
    walks = " ".join(WALK_MEANINGS)
    for title in COLUMNS.values():
        assert title.startswith("±") or re.split(r"[ ,\[]", title)[0] in walks
    transfer = " ".join([*TRANSFER_MEANINGS, *WALK_MEANINGS, "skill rollouts"])
    for title in TRANSFER_COLUMNS.values():
        assert title.split(" ")[0] in transfer


def test_meanings_have_no_abbreviations() -> None:
    texts = [*WALK_MEANINGS.values(), *PLAIN_DIVERSITY.values(), *TRANSFER_MEANINGS.values()]
    for text in (*texts, DIVERGENCE_MEANING):
        assert {*ABBREVIATION.findall(text)} <= METHODS


def test_facts_are_those_that_were_measured() -> None:
    """A list is shown as skills, an empty one as none, an absent judgement as such."""
    metrics = {"told_apart": 0.9, "walking": [0, 2], "visibly_different": [], "two_gaits": None}
    facts = {title: value for title, value, _ in diversity_facts(metrics)}
    assert facts == {
        DIVERSITY["told_apart"]: 0.9,
        DIVERSITY["walking"]: "0, 2",
        DIVERSITY["visibly_different"]: "none",
        DIVERSITY["two_gaits"]: "not judged",
    }
