"""Complaints about training that leads nowhere: after a while, once, and only then."""

from __future__ import annotations

from math import inf, nan

import pytest

from solo_doi.algorithm.config import TrainConfig
from solo_doi.algorithm.health import PATIENCE, Health, TrainingError, finite

SKILLS = 3
BAD = {
    "exponent": {"exponent/0": 0.9, "exponent/1": 0.8, "exponent/2": 0.5},
    "weights": {"effective_share/1": 0.0005},
    "discriminator": {"discriminator_accuracy": 0.4},
}
TEXT = {
    "exponent": "is 0.90, below 1: they can only become alike. Raise diversity_weight or eps",
    "weights": "a skill's weights rest on 0.05% of the data",
    "discriminator": "the discriminator names skills no better than chance",
}


def metrics(**changes: float) -> dict[str, float]:
    """What a healthy outer step logs."""
    each = {
        f"{name}/{skill}": value
        for name, value in (("exponent", 2.0), ("effective_share", 0.1))
        for skill in range(SKILLS)
    }
    return each | {"discriminator_accuracy": 0.9} | changes


def health(**changes: object) -> Health:
    """Of three skills."""
    return Health(TrainConfig(**({"skills": SKILLS, "eps": 2.0} | changes)))  # type: ignore[arg-type]


def told(watched: Health, steps: int, **changes: float) -> list[list[str]]:
    """Complaints of equal steps, one after another."""
    return [watched.observe(metrics(**changes)) for _ in range(steps)]


def test_a_healthy_run_is_left_alone() -> None:
    """Three times the patience."""
    watched = health()
    assert told(watched, 3 * PATIENCE) == [[]] * (3 * PATIENCE)
    assert watched.warnings == []


@pytest.mark.parametrize("name", BAD)
def test_a_complaint_is_made_once_after_patience(name: str) -> None:
    """Nothing for 19 steps, one text in the twentieth, and no other ever after; it is kept for the summary."""
    watched = health()
    complaints = told(watched, 3 * PATIENCE, **BAD[name])
    assert [len(each) for each in complaints] == [int(step == PATIENCE - 1) for step in range(3 * PATIENCE)]
    assert TEXT[name] in complaints[PATIENCE - 1][0]
    assert watched.warnings == complaints[PATIENCE - 1]


@pytest.mark.parametrize("name", BAD)
def test_what_passes_in_time_is_not_told(name: str) -> None:
    """One healthy step among bad ones starts the count again."""
    watched = health()
    for _ in range(3):
        assert told(watched, PATIENCE - 1, **BAD[name]) == [[]] * (PATIENCE - 1)
        assert told(watched, 1) == [[]]


def test_what_comes_back_is_not_told_again() -> None:
    """Also with other numbers in its text."""
    watched = health()
    told(watched, PATIENCE, **{"effective_share/0": 0.0005, **BAD["exponent"]})
    told(watched, 1)
    again = told(
        watched, PATIENCE, **{"effective_share/0": 0.0008, "exponent/0": 0.1, "exponent/1": 0.2, "exponent/2": 0.3}
    )
    assert again == [[]] * PATIENCE
    assert len(watched.warnings) == 2


def test_two_complaints_may_come_together() -> None:
    """Each with its own count."""
    complaints = told(health(), PATIENCE, **BAD["weights"], **BAD["discriminator"])
    assert len(complaints[-1]) == 2


def test_one_skill_that_may_differ_is_enough() -> None:
    """The exponent that counts is the largest."""
    assert told(health(), PATIENCE, **{"exponent/0": 0.1, "exponent/1": 1.2, "exponent/2": 0.1})[-1] == []


def test_chance_is_no_complaint_while_skills_must_be_alike() -> None:
    """With exponents below one the discriminator cannot do better: only the exponent is told of."""
    complaints = told(health(), PATIENCE, **BAD["exponent"], **BAD["discriminator"])[-1]
    assert len(complaints) == 1
    assert TEXT["exponent"] in complaints[0]


def test_without_a_discriminator_there_is_no_accuracy_to_complain_about() -> None:
    """It is not logged while the discriminator is held, nor with another measure of diversity."""
    watched = health()
    for _ in range(PATIENCE):
        step = metrics()
        del step["discriminator_accuracy"]
        assert watched.observe(step) == []


@pytest.mark.parametrize("changes", [{"multipliers": "fixed:0.9"}, {"objective": "unconstrained:0.5"}])
def test_exponents_that_the_user_chose_are_no_complaint(changes: dict[str, str]) -> None:
    """Nor is eps, which plays no part."""
    watched = health(eps=0.5, **changes)
    assert told(watched, PATIENCE, **BAD["exponent"])[-1] == []
    assert watched.warnings == []


@pytest.mark.parametrize(("eps", "warned"), [(0.5, True), (1.09, True), (1.1, False), (2.0, False), (0.0, False)])
def test_a_constraint_below_log_of_the_skills_is_told_at_once(eps: float, warned: bool) -> None:
    """log 3 = 1.0986; with eps of 0 skills are meant to be alike."""
    warnings = health(eps=eps).warnings
    assert len(warnings) == warned
    assert all(f"eps {eps:g} is below log(3) = 1.10" in text for text in warnings)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_what_is_no_number_ends_training(value: float) -> None:
    """The metric, its value and the step are named."""
    with pytest.raises(TrainingError, match=rf"^loss/value became {value} in outer step 7\."):
        finite({"phi/0": 1.0, "loss/value": value}, 7)


def test_numbers_pass() -> None:
    """Unchanged."""
    assert finite({"phi/0": 1.0, "loss/value": -1e30}, 7) == {"phi/0": 1.0, "loss/value": -1e30}
