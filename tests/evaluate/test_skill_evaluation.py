"""Skills rolled out and described: few robots, the shortest episodes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.evaluate import skill_evaluation as skills
from solo_doi.evaluate.eval_config import EvalConfig
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
    "success",
}
OF_SKILLS = {"skill", "return_pct", "intervals"}
OF_SEVERAL = {
    "return_pct_mean",
    "return_pct_worst",
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
    """Physics and sensor errors do not depend on who walks; another seed draws others."""
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
    """Simulator, randomisation and number of robots; the seed always."""
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
    """One undisturbed robot of each skill in MuJoCo."""
    evaluation = evaluate(
        MadeUpPolicy(0.0, 0.0), MadeUpPolicy(0.0), EvalConfig(sim="pybullet", pictures=pictures)
    )
    assert len(evaluation.films) == (2 if pictures else 0)
    films = [asked for asked in roll_outs.asked if asked[-1] == 1]
    assert films == ([(0, "mujoco", "none", 1), (1, "mujoco", "none", 1)] if pictures else [])
    assert [asked for asked in roll_outs.asked if asked[-1] > 1] == [
        (0, "pybullet", "paper", 30),
        (0, "pybullet", "paper", 30),
        (1, "pybullet", "paper", 30),
    ]


# --- Descriptions --------------------------------------------------------------------------------


def test_the_expert_itself_has_a_return_of_a_hundred_percent() -> None:
    """And a skill with half of its return fifty."""
    expert = made_up_walk(spread=0.0, reward=0.8)
    half = made_up_walk(spread=0.0, reward=0.4, height_mean=0.29)
    described = describe_skills(Evaluation(expert, [expert, half], []))
    assert [skill["return_pct"] for skill in described["skills"]] == pytest.approx([100.0, 50.0])
    assert described["return_pct_mean"] == pytest.approx(75.0)
    assert described["return_pct_worst"] == pytest.approx(50.0)
    assert described["height_std"] == pytest.approx(0.02)
    assert described["visibly_different"] == [0, 1]


def test_a_description_has_every_number_and_is_json() -> None:
    """Measures of the expert, of each skill, and of all skills together."""
    evaluation = Evaluation(made_up_walk(), [made_up_walk(seed=1), made_up_walk(seed=2)], [])
    described = describe_skills(evaluation)
    assert described.keys() == {"expert", "skills", *OF_SEVERAL}
    assert described["expert"].keys() == OF_EACH
    assert [skill["skill"] for skill in described["skills"]] == [0, 1]
    for skill in described["skills"]:
        assert skill.keys() == OF_EACH | OF_SKILLS
        low, high = skill["intervals"]["return"]
        assert low <= skill["return"] <= high
    json.dumps(described, allow_nan=False)


def test_a_single_skill_has_nothing_to_differ_from() -> None:
    """Its own numbers, and no others."""
    described = describe_skills(Evaluation(made_up_walk(), [made_up_walk()], []))
    assert described.keys() == {"expert", "skills"}
    assert len(described["skills"]) == 1


def test_distances_are_measured_in_deviations_of_the_expert() -> None:
    """A feature the expert keeps within 0.1 counts ten times.

    One it never changes counts as it is.
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
    """Four fifths of the command are enough; of four robots one is slow and one falls."""
    walk = made_up_walk(4, spread=0.0, fallen=np.array([False, False, True, False]))
    walk.vx[:] = [0.8, 0.79, 1.0, 1.2]
    assert success(walk) == 0.5


# --- Settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 99}, "99 steps are too short to measure a gait: expected at least 100"),
        ({"episodes": 3}, "3 episodes are too few to compare skills: expected at least 4"),
        ({"seed": -1}, "Seed -1: expected 0 or more"),
        ({"estimator_episodes": 0}, "0 rollouts with the estimator: expected 1 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, int], message: str) -> None:
    """With what would be enough."""
    with pytest.raises(SoloError, match=message):
        EvalConfig(**changes).check()  # type: ignore[arg-type]
    EvalConfig(steps=100, episodes=4, seed=0).check()
