"""Warnings about training without progress: after a grace period, and once."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm import equations
from solo_doi.algorithm.diagnostics import GRACE_STEPS, Diagnostics, TrainingError, finite
from solo_doi.algorithm.part_configs import MultiplierConfig, PolicyConfig
from solo_doi.algorithm.ratios import normalised
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.metrics_log import read_metrics
from solo_doi.runs.run import Run

from .small import seeded

SHIPPED = Path(__file__).parents[2] / "solo_doi" / "skills" / "locomotion"
SKILLS = 3
BAD = {
    "exponent": {"exponent/0": 0.9, "exponent/1": 0.8, "exponent/2": 0.5},
    "weights": {"effective_share/1": 0.0015},
    "discriminator": {"discriminator_accuracy": 0.4},
}
TEXT = {
    "exponent": "is below 1 for skills 0 (0.90), 1 (0.80), 2 (0.50): their differences fade. Raise",
    "weights": "a skill's weights rest on 0.15% of the data",
    "discriminator": "the discriminator names skills no better than chance",
}


def metrics(**changes: float) -> dict[str, float]:
    """Return the metrics of a healthy outer step, with given changes."""
    each = {
        f"{name}/{skill}": value
        for name, value in (("exponent", 2.0), ("effective_share", 0.1))
        for skill in range(SKILLS)
    }
    return each | {"discriminator_accuracy": 0.9} | changes


def health(**changes: object) -> Diagnostics:
    """Return the diagnostics of a run with three skills."""
    return Diagnostics(TrainConfig(**({"skills": SKILLS, "eps": 2.0} | changes)))  # type: ignore[arg-type]


def told(watched: Diagnostics, steps: int, **changes: float) -> list[list[str]]:
    """Return the warnings of successive equal steps."""
    return [watched.observe(metrics(**changes)) for _ in range(steps)]


def test_a_healthy_run_gives_no_warning() -> None:
    """Good metrics over three grace periods give no warning."""
    watched = health()
    assert told(watched, 3 * GRACE_STEPS) == [[]] * (3 * GRACE_STEPS)
    assert watched.warnings == []


def test_a_collapse_that_no_subset_shows_is_reported_at_the_end() -> None:
    """One warning names the smallest share of any skill.

    Equal weights that come from truncation are not a collapse.
    """
    watched = health(truncation=1.0)
    assert watched.observe_full([0.1, 0.0011, 0.3], 1_000_000) == []
    (text,) = watched.observe_full([0.1, 0.0009, 0.3], 1_000_000)
    assert text.startswith("a skill's weights rest on 0.09% of the data")
    assert watched.warnings == [text]
    assert watched.observe_full([0.1, 0.0001, 0.3], 1_000_000) == []
    assert health(truncation=0.99).observe_full([0.0111], 1_000_000) == []


def test_the_run_of_the_shipped_skills_gives_no_warning() -> None:
    """The logged metrics give no warning with the run's own settings."""
    config = Run(SHIPPED).config
    watched, lines = Diagnostics(config), read_metrics(SHIPPED)
    assert len(lines) == config.outer
    assert [watched.observe(line) for line in lines] == [[]] * len(lines)


@pytest.mark.parametrize("name", BAD)
def test_a_warning_is_given_once_after_the_grace_period(name: str) -> None:
    """The first 19 steps give no warning, the twentieth gives one, later steps give none.

    The summary contains it.
    """
    watched = health()
    complaints = told(watched, 3 * GRACE_STEPS, **BAD[name])
    assert [len(each) for each in complaints] == [
        int(step == GRACE_STEPS - 1) for step in range(3 * GRACE_STEPS)
    ]
    assert TEXT[name] in complaints[GRACE_STEPS - 1][0]
    assert watched.warnings == complaints[GRACE_STEPS - 1]


@pytest.mark.parametrize("name", BAD)
def test_a_short_problem_gives_no_warning(name: str) -> None:
    """One healthy step among bad ones restarts the count."""
    watched = health()
    for _ in range(3):
        assert told(watched, GRACE_STEPS - 1, **BAD[name]) == [[]] * (GRACE_STEPS - 1)
        assert told(watched, 1) == [[]]


def test_a_problem_that_comes_back_is_not_reported_again() -> None:
    """A warning with other numbers in its text counts as the same warning."""
    watched = health()
    told(watched, GRACE_STEPS, **{"effective_share/0": 0.0015, **BAD["exponent"]})
    told(watched, 1)
    again = told(
        watched,
        GRACE_STEPS,
        **{"effective_share/0": 0.0008, "exponent/0": 0.1, "exponent/1": 0.2, "exponent/2": 0.3},
    )
    assert again == [[]] * GRACE_STEPS
    assert len(watched.warnings) == 2


def test_two_warnings_can_come_together() -> None:
    """Each warning has its own count."""
    complaints = told(health(), GRACE_STEPS, **BAD["weights"], **BAD["discriminator"])
    assert len(complaints[-1]) == 2


def test_a_skill_with_an_exponent_below_one_is_named() -> None:
    """One skill with an exponent below one is enough; the other skills are not named."""
    (complaint,) = told(
        health(), GRACE_STEPS, **{"exponent/0": 2.0, "exponent/1": 0.75, "exponent/2": 1.0}
    )[-1]
    assert "is below 1 for skill 1 (0.75): their differences fade." in complaint


def test_a_force_has_no_exponent() -> None:
    """The exponent describes the log-odds of a discriminator; van der Waals forces have none."""
    assert told(health(diversity="van_der_waals"), GRACE_STEPS, **BAD["exponent"])[-1] == []


def test_chance_accuracy_gives_no_warning_with_exponents_below_one() -> None:
    """With exponents below one a better accuracy is impossible; only the exponent is reported."""
    complaints = told(health(), GRACE_STEPS, **BAD["exponent"], **BAD["discriminator"])[-1]
    assert len(complaints) == 1
    assert TEXT["exponent"] in complaints[0]


def test_missing_accuracy_gives_no_warning() -> None:
    """The accuracy is absent while the discriminator is held, and for other diversity measures."""
    watched = health()
    for _ in range(GRACE_STEPS):
        step = metrics()
        del step["discriminator_accuracy"]
        assert watched.observe(step) == []


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        (
            {"multipliers": "fixed:0.9"},
            "Raise diversity_weight, or lower SIGMA of --multipliers fixed:SIGMA, if",
        ),
        ({"objective": "unconstrained:0.5"}, "Raise ALPHA of --objective unconstrained:ALPHA if"),
        ({}, "Raise diversity_weight or eps if"),
    ],
)
def test_advice_names_settings_with_an_effect(changes: dict[str, str], advice: str) -> None:
    """A parameter that is not learned is not suggested."""
    (complaint,) = told(health(**changes), GRACE_STEPS, **BAD["exponent"])[-1]
    assert f"{advice} they should differ." in complaint


@pytest.mark.parametrize(
    "changes", [{"multipliers": "fixed:0.9"}, {"objective": "unconstrained:0.5"}]
)
def test_eps_gives_no_warning_where_it_has_no_effect(changes: dict[str, str]) -> None:
    assert health(eps=0.5, **changes).warnings == []


def test_a_short_run_warns_before_it_ends() -> None:
    """A problem that lasts for all of three steps is reported in the last."""
    complaints = told(health(outer=3), 3, **BAD["exponent"])
    assert [len(each) for each in complaints] == [0, 0, 1]


# --- Weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spread", "collapsed"), [(1.0, False), (1e4, True)])
@pytest.mark.parametrize("truncation", [0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("rows", [100, 15_000])
def test_collapsed_weights_are_reported_for_any_truncation(
    rows: int, truncation: float, spread: float, collapsed: bool
) -> None:
    """Weights are computed as in training.

    One row has all of the weight, shared with the rows that truncation makes equal to it.
    """
    config = TrainConfig(skills=SKILLS, subset=rows, truncation=truncation)
    log_w = normalised(spread * torch.randn(rows, generator=seeded()), config)
    samples = float(equations.effective_samples(log_w))
    watched = Diagnostics(config)
    shares = {f"effective_share/{skill}": samples / rows for skill in range(SKILLS)}
    complaints = told(watched, GRACE_STEPS, **shares)[-1]
    assert [TEXT["weights"][:25] in complaint for complaint in complaints] == [True] * collapsed
    watched.observe_expert(samples, rows)
    watched.observe_expert(samples, rows)  # as in a resumed run
    assert sum("the expert's weights rest on" in text for text in watched.warnings) == collapsed


@pytest.mark.parametrize(
    ("eps", "warned"), [(0.5, True), (1.09, True), (1.1, False), (2.0, False), (0.0, False)]
)
def test_a_constraint_below_log_of_the_skills_is_reported_at_once(eps: float, warned: bool) -> None:
    """log 3 = 1.0986; eps 0 requests identical skills and gives no warning."""
    warnings = health(eps=eps, multiplier=MultiplierConfig(method="gradient")).warnings
    assert len(warnings) == warned
    assert all(f"eps {eps:g} is below log(3) = 1.10" in text for text in warnings)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_a_metric_that_is_not_finite_ends_training(value: float) -> None:
    """The error names the metric, its value and the step."""
    with pytest.raises(TrainingError, match=rf"^loss/value became {value} in outer step 7\."):
        finite({"phi/0": 1.0, "loss/value": value}, "outer step 7")


def test_finite_metrics_are_returned_unchanged() -> None:
    assert finite({"phi/0": 1.0, "loss/value": -1e30}, "outer step 7") == {
        "phi/0": 1.0,
        "loss/value": -1e30,
    }


@pytest.mark.parametrize("ids", [True, False])
def test_a_continued_run_repeats_no_warning(ids: bool) -> None:
    """This includes checkpoints of version 0.1, which have texts without ids."""
    gradient = MultiplierConfig(method="gradient")
    first = health(eps=0.5, multiplier=gradient)
    first.observe_expert(1.0, 100_000)
    assert len(first.warnings) == 2
    state = first.state()
    if not ids:
        del state["warning_ids"]
    second = health(eps=0.5, multiplier=gradient)
    second.load(state)
    second.observe_expert(2.0, 100_000)
    assert second.warnings == first.warnings
    assert second.state() == first.state()


@pytest.mark.parametrize(
    ("share", "by_trajectory", "warned"),
    [(0.15, True, True), (0.05, True, False), (0.15, False, False)],
)
def test_weight_on_rejected_trajectories_is_reported(
    share: float, by_trajectory: bool, warned: bool
) -> None:
    """Cloning by rows does not depend on the means over trajectories."""
    watched = health(policy=PolicyConfig(trajectory_weights=by_trajectory))
    watched.observe_rejected(share)
    watched.observe_rejected(share)  # as in a resumed run
    start = "15% of the expert's weight lie on trajectories"
    assert [text.startswith(start) for text in watched.warnings] == [True] * warned
