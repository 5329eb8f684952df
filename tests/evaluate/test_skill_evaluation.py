"""Rollouts and descriptions of skills, with few robots and the shortest episodes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.evaluate import skill_evaluation as skills
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.metrics.intervals import wilson
from solo_doi.evaluate.report.result_texts import falls_text, pooled_falls_text, two_gaits_text
from solo_doi.evaluate.rollouts.recording import evaluation_task
from solo_doi.evaluate.skill_evaluation import (
    Evaluation,
    describe_skills,
    evaluate,
    feature_scale,
    roll_out,
    success,
)
from solo_doi.tasks.locomotion import LocomotionTask

from .walks import FEATURES, MadeUpPolicy, RollOuts, assert_same_walk, made_up_walk

FEW = EvalConfig(episodes=4, steps=100, randomisation="robust", pictures=False)
OF_EACH = {
    "return",
    "vx",
    "power",
    "energy",
    "falls",
    "height_mean",
    "height_std",
    "clearance",
    "frequency",
    "diagonal_phase",
    "pair_phase",
    "duty",
    "pitch",
    "drift",
    "yaw_drift",
    "fall_share",
    "few_rollouts",
    "success",
}
OF_SKILLS = {"skill", "return_pct", "intervals", "two_gaits_in", "two_gaits_plain_in"}
OF_ALL = {
    "expert",
    "skills",
    "falls_pooled",
    "drift_mean",
    "two_gaits",
    "two_gaits_plain",
    "two_gaits_not_judged",
}
OF_SEVERAL = {
    "walking",
    "pairs",
    "visibly_different_pairs",
    "clearly_different",
    "clearly_different_pairs",
    "return_pct_mean",
    "return_pct_worst",
    "silhouette",
    "sf_l2",
    "sf_l2_standardised",
    "height_std",
    "told_apart",
    "mutual_information",
    "visibly_different",
    "spread",
}


# --- Rollouts ------------------------------------------------------------------------------------


def test_equal_policies_give_identical_walks() -> None:
    """Two equal skills and an equal expert have the same domains, noise and pushes."""
    evaluation = evaluate(MadeUpPolicy(0.0, 0.0), MadeUpPolicy(0.0), FEW)
    assert len(evaluation.walks) == 2
    for walk in evaluation.walks:
        assert_same_walk(walk, evaluation.expert)
    assert len(set(evaluation.expert.power)) == FEW.episodes  # each robot in a domain of its own


def test_skills_that_act_differently_meet_the_same_robots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Physics and sensor errors do not depend on the skill; another seed draws others."""
    tasks: list[LocomotionTask] = []

    def noted(sim: str, num_robots: int, randomisation: str, seed: int) -> LocomotionTask:
        tasks.append(evaluation_task(sim, num_robots, randomisation, seed))
        return tasks[-1]

    monkeypatch.setattr(skills, "evaluation_task", noted)
    evaluation = evaluate(MadeUpPolicy(0.0, 0.5), MadeUpPolicy(-0.5), FEW)
    roll_out(MadeUpPolicy(0.0), 0, EvalConfig(episodes=4, steps=1, randomisation="robust", seed=1))
    expert, first, second, other = tasks
    for task in (first, second):
        np.testing.assert_array_equal(task.bias, expert.bias)
        for name, values in vars(expert.simulator.domain).items():
            np.testing.assert_array_equal(
                getattr(task.simulator.domain, name), values, err_msg=name
            )
    assert (other.bias != expert.bias).any()
    assert (other.simulator.domain.friction != expert.simulator.domain.friction).any()
    assert (evaluation.walks[0].power != evaluation.walks[1].power).all()


def test_a_skill_is_asked_what_it_would_do_in_every_step() -> None:
    """The requested skill gets the observations of all robots in single precision."""
    policy = MadeUpPolicy(0.0, 0.4)
    still, crouched = (roll_out(policy, skill, FEW, "mujoco", "none", 2) for skill in (0, 1))
    assert len(policy.seen) == 2 * FEW.steps
    assert {(seen.shape, seen.dtype.name) for seen in policy.seen} == {((2, 48), "float32")}
    assert still.position_w.shape == (FEW.steps, 2, 3)
    assert abs(still.joint_position[-1] - crouched.joint_position[-1]).max() > 0.05


def test_what_is_not_given_is_taken_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for simulator, randomisation and number of robots.

    The seed is always that of the configuration.
    """
    asked: list[tuple[object, ...]] = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise SoloError("enough")

    config = EvalConfig(sim="pybullet", randomisation="robust", episodes=7, seed=3)
    for task, estimator in (("evaluation_task", False), ("estimated_task", True)):
        monkeypatch.setattr(skills, task, refuse)
        for given in ((), ("mujoco", "none", 1)):
            with pytest.raises(SoloError, match="enough"):
                roll_out(MadeUpPolicy(0.0), 0, config, *given, estimator=estimator)
        monkeypatch.undo()
    assert asked == 2 * [("pybullet", 7, "robust", 3), ("mujoco", 1, "none", 3)]


@pytest.mark.parametrize("pictures", [True, False])
def test_films_are_made_for_pictures_only(pictures: bool, roll_outs: RollOuts) -> None:
    """A film shows one undisturbed robot of each skill in MuJoCo."""
    evaluation = evaluate(
        MadeUpPolicy(0.0, 0.0), MadeUpPolicy(0.0), EvalConfig(sim="pybullet", pictures=pictures)
    )
    assert len(evaluation.films) == (2 if pictures else 0)
    films = [asked for asked in roll_outs.asked if asked[-1] == 1]
    expected = [(0, "mujoco", "none", 1), (1, "mujoco", "none", 1), (0, "mujoco", "none", 1)]
    assert films == (expected if pictures else [])  # two skills and the expert
    assert (evaluation.expert_film is not None) is pictures
    assert [asked for asked in roll_outs.asked if asked[-1] > 1] == [
        (0, "pybullet", "paper", 120),
        (0, "pybullet", "paper", 120),
        (1, "pybullet", "paper", 120),
    ]


# --- Descriptions --------------------------------------------------------------------------------


def test_the_expert_itself_has_a_return_of_a_hundred_percent() -> None:
    """A skill with half of the expert's return has fifty percent."""
    expert = made_up_walk(spread=0.0, reward=0.8)
    half = made_up_walk(spread=0.0, reward=0.4, height_mean=0.29)
    described = describe_skills(Evaluation(expert, [expert, half], []))
    assert [skill["return_pct"] for skill in described["skills"]] == pytest.approx([100.0, 50.0])
    assert described["return_pct_mean"] == pytest.approx(75.0)
    assert described["return_pct_worst"] == pytest.approx(50.0)
    assert described["height_std"] == pytest.approx(0.02)
    assert described["visibly_different"] == [0, 1]


def test_a_description_has_every_number_and_is_json() -> None:
    """It has measures of the expert, of each skill and of all skills together."""
    evaluation = Evaluation(made_up_walk(), [made_up_walk(seed=1), made_up_walk(seed=2)], [])
    described = describe_skills(evaluation)
    assert described.keys() == OF_ALL | OF_SEVERAL
    assert described["expert"].keys() == OF_EACH
    assert [skill["skill"] for skill in described["skills"]] == [0, 1]
    for skill in described["skills"]:
        assert skill.keys() == OF_EACH | OF_SKILLS
        low, high = skill["intervals"]["return"]
        assert low <= skill["return"] <= high
    json.dumps(described, allow_nan=False)


def test_both_counts_of_different_skills_are_described() -> None:
    """Skills 0 and 1 differ in height, 1 and 2 in cadence, 0 and 2 in both."""
    walks = [
        made_up_walk(seed=0, height_mean=0.22),
        made_up_walk(seed=1, height_mean=0.25),
        made_up_walk(seed=2, height_mean=0.25, frequency=4.0),
    ]
    described = describe_skills(Evaluation(made_up_walk(), walks, []))
    assert described["walking"] == [0, 1, 2]
    assert (described["visibly_different"], described["visibly_different_pairs"]) == ([0, 1], 2)
    assert (described["clearly_different"], described["clearly_different_pairs"]) == ([0, 1, 2], 3)
    assert described["pairs"] == 3


def test_falls_are_pooled_over_skills() -> None:
    """3 of 16 rollouts fell; the drift is the mean over skills."""
    fallen = np.arange(8)
    walks = [
        made_up_walk(spread=0.0, drift=0.2, fallen=fallen < 1),
        made_up_walk(spread=0.0, drift=0.6, fallen=fallen < 2),
    ]
    described = describe_skills(Evaluation(made_up_walk(), walks, []))
    falls = described["falls_pooled"]
    assert (falls["falls"], falls["rollouts"], falls["share"]) == (3, 16, 3 / 16)
    assert falls["interval"] == wilson(3, 16)
    assert falls["few_rollouts"]
    assert described["drift_mean"] == pytest.approx(0.4)


def test_falls_of_few_rollouts_are_marked() -> None:
    """Each of three skills has 100 rollouts; pooled they have 300, which are enough."""
    walks = [made_up_walk(100, seed=seed) for seed in range(3)]
    described = describe_skills(Evaluation(made_up_walk(100), walks, []))
    assert [skill["few_rollouts"] for skill in described["skills"]] == [True] * 3
    assert not described["falls_pooled"]["few_rollouts"]
    assert pooled_falls_text(described) == "0 of 300 (0.0 to 1.3 %)"
    assert falls_text(0, 299) == "0 of 299 (0.0 to 1.3 %, few rollouts)"


def test_skills_with_two_gaits_are_listed() -> None:
    """They are listed with their measures.

    A wide gait is flagged by the plain rule alone; a skill with two falls is not judged.
    """
    walks = [made_up_walk(101, seed=seed) for seed in range(4)]
    walks[1].pitch[::3] += 8.0
    walks[2].height_mean[:] = np.linspace(0.23, 0.27, 101)
    walks[3].fallen[:2] = True
    described = describe_skills(Evaluation(made_up_walk(101), walks, []))
    assert described["two_gaits"] == [1]
    assert described["two_gaits_plain"] == [1, 2]
    assert described["two_gaits_not_judged"] == [3]
    flagged = [skill["two_gaits_in"] for skill in described["skills"]]
    assert flagged == [[], ["pitch"], [], None]
    plain = [skill["two_gaits_plain_in"] for skill in described["skills"]]
    assert plain == [[], ["pitch"], ["height_mean"], None]
    assert two_gaits_text(described) == (
        "Two gaits in one skill: skill 1 (in pitch). By the plain rule, which also flags one wide "
        "gait: skill 1 (in pitch), skill 2 (in height_mean). Two gaits not judged, fewer than 100 "
        "upright rollouts: 3."
    )


def test_with_few_rollouts_nothing_is_stated_about_gaits() -> None:
    """No skill is judged."""
    few = describe_skills(Evaluation(made_up_walk(), [made_up_walk()], []))
    assert few["two_gaits"] is None
    assert few["two_gaits_plain"] is None
    assert few["two_gaits_not_judged"] == [0]
    assert few["skills"][0]["two_gaits_in"] is None
    assert two_gaits_text(few) == ("Two gaits not judged, fewer than 100 upright rollouts: 0.")


def test_a_single_skill_has_nothing_to_differ_from() -> None:
    """It has its own numbers, without measures of diversity."""
    described = describe_skills(Evaluation(made_up_walk(), [made_up_walk()], []))
    assert described.keys() == OF_ALL
    assert len(described["skills"]) == 1


def test_distances_are_measured_in_deviations_of_the_expert() -> None:
    """A feature with a deviation of 0.1 over the expert's rollouts counts ten times.

    A constant feature is not scaled.
    """
    successor = np.zeros((4, FEATURES))
    successor[:, 0] = [-0.1, 0.1, -0.1, 0.1]
    expert = made_up_walk(4, successor=successor)
    np.testing.assert_allclose(feature_scale(expert), [0.1, *np.ones(FEATURES - 1)])
    skills = [made_up_walk(4, successor=np.zeros((4, FEATURES))) for _ in range(2)]
    skills[1].successor[:, 0] = 2.0
    described = describe_skills(Evaluation(expert, skills, []))
    assert described["sf_l2"] == pytest.approx(2.0)
    assert described["sf_l2_standardised"] == pytest.approx(20.0)
    skills[1].successor[:, :2] = [0.0, 2.0]
    assert describe_skills(Evaluation(expert, skills, []))["sf_l2_standardised"] == pytest.approx(
        2.0
    )


def test_success_is_walking_fast_enough_without_a_fall() -> None:
    """Four fifths of the command suffice; of four robots one is too slow and one falls."""
    walk = made_up_walk(4, spread=0.0, fallen=np.array([False, False, True, False]))
    walk.vx[:] = [0.8, 0.79, 1.0, 1.2]
    assert success(walk) == 0.5
