"""Verdict on skills in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from solo_doi.evaluate.report.verdict import verdict


def metrics(**changes: Any) -> dict[str, Any]:
    """Return the metrics of five skills of which three look different."""
    found = {
        "skills": [
            {"skill": skill, "vx": 0.9 + skill / 20, "return_pct": 90.0 + skill}
            for skill in range(5)
        ],
        "walking": [0, 1, 2, 3, 4],
        "visibly_different": [0, 2, 3],
        "falls_pooled": {"falls": 0, "rollouts": 600, "interval": [0.0, 0.006]},
    }
    return found | changes


def test_a_run_is_judged_in_four_sentences() -> None:
    assert verdict(metrics(), 1.0) == [
        "Three of five skills look different from each other: skills 0, 2 and 3. Skills 1 and 4 "
        "each resemble one of them.",
        "All walk: 0.90 to 1.10 m/s, 1 m/s commanded.",
        "They keep the commanded velocity 92 % as well as the expert they imitate (worst: skill 0, "
        "90 %).",
        "No falls in 600 simulated walks: 0.0 to 0.6 % of walks are expected to end in a fall.",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"visibly_different": [1]}, "No two of five skills that walk look different."),
        (
            {"visibly_different": [0, 1, 2, 3]},
            "Four of five skills look different from each other: skills 0, 1, 2 and 3. Skill 4 "
            "resembles one of them.",
        ),
        (
            {"visibly_different": [0, 1, 2, 3, 4]},
            "Five of five skills look different from each other: skills 0, 1, 2, 3 and 4.",
        ),
        (
            {"walking": [0, 2, 3]},
            "Skills 1 and 4 do not walk well enough. Speeds: 0.90 to 1.10 m/s, 1 m/s commanded.",
        ),
        (
            {"falls_pooled": {"falls": 1, "rollouts": 20, "interval": [0.009, 0.236]}},
            "One fall in 20 simulated walks: 0.9 to 23.6 % of walks are expected to end in a fall.",
        ),
        (
            {"selected": [2]},
            "Robust in all simulated conditions, and selected for the robot: skill 2.",
        ),
        (
            {"selected": []},
            "No skill is robust in all simulated conditions: do not try them on a robot.",
        ),
    ],
)
def test_each_case_has_its_sentence(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in verdict(metrics(**changes), 1.0)


def test_one_skill_is_not_compared_with_others() -> None:
    alone = metrics(skills=[{"skill": 0, "vx": 1.0, "return_pct": 99.0}])
    del alone["visibly_different"], alone["walking"]
    sentences = verdict(alone, 1.0)
    assert sentences[0].startswith("All walk: ")
    assert sentences[1].endswith("the expert they imitate.")
