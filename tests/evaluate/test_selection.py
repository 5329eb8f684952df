"""Selection of robust skills, and the record of the choice."""

from __future__ import annotations

import json

import pytest

from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.metrics.intervals import wilson
from solo_doi.evaluate.selection import (
    TransferRow,
    ranking,
    select,
    selection,
    transfer,
    transfer_score,
)

from .walks import MadeUpPolicy, RollOuts


def row(sim: str, skill: int, success: float, drift: float = 0.3) -> TransferRow:
    """Return success and drift of a skill in a condition, named by a simulator."""
    return TransferRow(
        sim=sim,
        randomisation="",
        base="known",
        skill=skill,
        rollouts=10,
        vx=1.0,
        falls=0,
        fall_interval=wilson(0, 10),
        success=success,
        success_interval=wilson(round(10 * success), 10),
        drift=drift,
    )


def rows(**shares: list[float]) -> list[TransferRow]:
    """Return the success of the skills, by condition."""
    return [
        row(name, skill, share)
        for name, of_skills in shares.items()
        for skill, share in enumerate(of_skills)
    ]


def test_robust_skills_succeed_in_every_condition() -> None:
    """Nine of ten rollouts must succeed; one bad condition excludes a skill."""
    assert select(rows(one=[1.0, 0.9, 0.89, 1.0], two=[1.0, 0.9, 1.0, 0.5])) == [0, 1]
    assert select(rows(one=[0.0, 1.0], two=[1.0, 0.8])) == []
    assert select([]) == []


def test_skills_that_drift_far_are_left_out() -> None:
    """The mean drift exceeds one metre in one condition."""
    some = [row("one", skill, 1.0) for skill in range(3)]
    some += [row("two", skill, 1.0, drift) for skill, drift in enumerate((0.2, 1.0, 1.01))]
    assert select(some) == [0, 1]


def test_robust_skills_are_ranked_by_success_then_by_drift() -> None:
    """The worst condition of each skill counts; skills that are not selected have no rank."""
    some = [row("one", skill, 1.0, 0.1) for skill in range(4)]
    worst = ((0.95, 0.2), (1.0, 0.8), (1.0, 0.4), (0.8, 0.1))
    some += [row("two", skill, *numbers) for skill, numbers in enumerate(worst)]
    assert ranking(some) == [2, 1, 0]
    assert select(some) == [0, 1, 2]


def test_the_score_of_a_run_is_that_of_its_skills_where_each_is_worst() -> None:
    """The worst condition may differ between skills; it is not a mean over conditions."""
    assert transfer_score(rows(one=[1.0, 0.5], two=[0.7, 0.9])) == pytest.approx(0.6)


def test_the_order_of_rows_does_not_matter() -> None:
    """A later success does not replace an earlier failure."""
    some = rows(one=[1.0, 0.2, 0.95], two=[1.0, 1.0, 1.0])
    assert select(some) == select(some[::-1]) == [0, 2]


def test_transfer_rolls_every_skill_out_in_every_condition(roll_outs: RollOuts) -> None:
    """Conditions combine both simulators, nominal and randomised domains, and both base states.

    With the estimated base there are fewer rollouts.
    """
    found = transfer(MadeUpPolicy(0.0, 0.0), EvalConfig(transfer_episodes=5, estimator_episodes=3))
    places = [
        (sim, kind, base)
        for sim in ("mujoco", "pybullet")
        for kind in ("none", "robust")
        for base in (False, True)
    ]
    expected = [
        (skill, sim, kind, 3 if base else 5) for sim, kind, base in places for skill in (0, 1)
    ]
    assert roll_outs.asked == expected
    assert roll_outs.estimated == [base for _, _, base in places for _ in (0, 1)]
    assert [(row.skill, row.sim, row.randomisation, row.rollouts) for row in found] == expected
    assert [row.base for row in found] == [
        ("known", "estimated")[estimated] for estimated in roll_outs.estimated
    ]
    for row in found:
        assert row.vx == pytest.approx(1.0, abs=0.1)
        assert (row.falls, row.success) == (0, 1.0)
        assert row.fall_interval == wilson(0, row.rollouts)
        assert row.success_interval == wilson(row.rollouts, row.rollouts)
        assert row.drift == 0.0  # recorded robots glide straight on


@pytest.mark.usefixtures("roll_outs")
def test_a_selection_says_what_it_rests_on() -> None:
    """It has conditions, thresholds and rollouts as numbers, and as a sentence for a model card."""
    config = EvalConfig(transfer_episodes=6, estimator_episodes=3, steps=120, seed=4)
    found = selection(transfer(MadeUpPolicy(0.0, 0.0), config), config)
    assert found["selected"] == [0, 1]
    assert found["worst_success"] == [1.0, 1.0]
    assert (found["ranking"], found["worst_drift"]) == ([0, 1], [0.0, 0.0])
    assert found["largest_drift"] == 1.0
    assert (found["least_success"], found["least_vx"], found["commanded"]) == (0.9, 0.8, 1.0)
    assert (found["steps"], found["seed"], len(found["conditions"])) == (120, 4, 8)
    assert {
        "sim": "pybullet",
        "randomisation": "robust",
        "base": "estimated",
        "rollouts": 3,
    } in found["conditions"]
    assert found["rule"].startswith(
        "at least 90% of rollouts at 0.8 m/s or more without a fall, 1 m/s commanded, and a mean"
    )
    for text in (
        "8 conditions",
        "mean sideways drift of 1 m or less",
        "Ranked by success, then by drift",
        "120 control steps",
        "seed 4",
        "mujoco none known (6)",
        "pybullet robust estimated (3)",
    ):
        assert text in found["rule"]
    json.dumps(found, allow_nan=False)
