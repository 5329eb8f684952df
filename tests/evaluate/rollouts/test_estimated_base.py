"""Rollouts with the deployed estimator in the loop: its inputs, and the observations."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.rollouts.estimated_base import STANDING, EstimatedTask, estimated_task
from solo_doi.evaluate.rollouts.recording import evaluation_task, record
from solo_doi.evaluate.shipped import SHIPPED_RUN
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.constants import GRAVITY, MOTOR_LAG, NUM_JOINTS, SENSE_DT, Array
from solo_doi.solo12.estimator import Estimate

VELOCITY, TILTED = np.array([0.3, -0.2, 0.1]), np.array([0.0, 0.6, -0.8])
TERMS = EstimatedTask.layout.slices
STILL = np.zeros((2, NUM_JOINTS))


class MadeUpEstimator:
    """Returns a constant estimate and records its inputs."""

    def __init__(self) -> None:
        """Start without inputs."""
        self.fed: list[tuple[Array, ...]] = []

    def update(self, *measured: Array) -> Estimate:
        """Record the sensor readings and the time step, in the order of `Estimator.update`."""
        self.fed.append(measured)
        return Estimate(TILTED, VELOCITY, np.array([0.0, 0.0, 0.5]), np.ones(4))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[MadeUpEstimator]:
    """The estimators of the tasks that a test makes, one per robot."""
    made: list[MadeUpEstimator] = []

    def make() -> MadeUpEstimator:
        made.append(MadeUpEstimator())
        return made[-1]

    monkeypatch.setattr("solo_doi.evaluate.rollouts.estimated_base.Estimator", make)
    monkeypatch.setattr("solo_doi.evaluate.rollouts.estimated_base.STANDING", 40)
    return made


def test_a_policy_sees_what_the_estimator_believes(made_up: list[MadeUpEstimator]) -> None:
    """The true base state is not observed.

    Joints are measured; command and previous action are as in training.
    """
    task = estimated_task("mujoco", 2, "none", 0)
    with task.simulator:
        seen = task.step(STILL + 0.1).observation
        joints = task.simulator.state().joint_position
    np.testing.assert_allclose(seen[:, TERMS["linear_velocity"]], [VELOCITY] * 2, rtol=1e-6)
    np.testing.assert_allclose(seen[:, TERMS["gravity"]], [TILTED] * 2, atol=1e-6)
    np.testing.assert_allclose(
        seen[:, TERMS["joint_position"]], joints - task.setup.default_pose, atol=1e-6
    )
    np.testing.assert_allclose(seen[:, TERMS["previous_action"]], 0.1)
    np.testing.assert_array_equal(seen[:, TERMS["command"]], [[1.0, 0.0, 0.0]] * 2)


def test_estimators_run_at_the_rate_of_the_deployment(made_up: list[MadeUpEstimator]) -> None:
    """Each robot's estimator runs twenty times in a step of the policy."""
    task = estimated_task("mujoco", 2, "none", 0)
    with task.simulator:
        before = [len(estimator.fed) for estimator in made_up]
        task.step(STILL)
    assert before == [40, 40]
    assert STANDING * SENSE_DT == 0.5
    assert [len(estimator.fed) for estimator in made_up] == [60, 60]
    assert {fed[-1] for estimator in made_up for fed in estimator.fed} == {SENSE_DT}
    assert (made_up[0].fed[-1][1] != made_up[1].fed[-1][1]).all()


def test_a_target_acts_as_late_as_in_training(made_up: list[MadeUpEstimator]) -> None:
    """Torques jump fifteen ticks after a new target, and not before."""
    task = estimated_task("mujoco", 1, "none", 0)
    with task.simulator:
        task.step(np.full((1, NUM_JOINTS), 1.0))
    torque = np.array([fed[2] for fed in made_up[0].fed[-21:]])
    jump = abs(np.diff(torque, axis=0)).max(axis=1)
    assert jump.argmax() == round(MOTOR_LAG / SENSE_DT)
    assert jump[: jump.argmax()].max() < 0.1 * jump.max()


def test_an_accelerometer_feels_weight_and_pushes(made_up: list[MadeUpEstimator]) -> None:
    """The velocity change of a push is measured in the next tick."""
    task = estimated_task("mujoco", 2, "none", 0)
    with task.simulator:
        for _ in range(25):
            task.step(STILL)
        resting = np.mean([fed[4] for fed in made_up[0].fed[-200:]], axis=0)
        task.simulator.kick([0], np.array([[0.3, 0.0, 0.0]]), np.zeros((1, 3)))
        task.step(STILL)
    np.testing.assert_allclose(resting, [0.0, 0.0, GRAVITY], atol=0.2)
    assert made_up[0].fed[-20][4][0] == pytest.approx(0.3 / SENSE_DT, rel=0.1)
    assert abs(made_up[1].fed[-20][4][0]) < 20


def test_constant_errors_are_those_of_sensors(made_up: list[MadeUpEstimator]) -> None:
    """Encoder errors reach the estimator and the policy.

    The observation errors of training are not added.
    """
    task = estimated_task("mujoco", 2, "robust", 3)
    with task.simulator:
        seen = task.observe()
        state = task.simulator.state()
    assert abs(task.bias[:, TERMS["joint_position"]]).max() > 0.01
    for robot, estimator in enumerate(made_up):
        position, _, _, gyro, acceleration, _ = estimator.fed[-1]
        wrong = position - state.joint_position[robot]
        np.testing.assert_allclose(wrong, task.bias[robot, TERMS["joint_position"]], atol=1e-6)
        bias = task.bias[robot, TERMS["angular_velocity"]]
        np.testing.assert_allclose(gyro - state.angular_velocity_b[robot], bias, atol=0.05)
        assert np.isfinite(acceleration).all()
    np.testing.assert_allclose(seen[:, TERMS["linear_velocity"]], [VELOCITY] * 2, rtol=1e-6)
    np.testing.assert_allclose(seen[:, TERMS["gravity"]], [TILTED] * 2, atol=1e-6)


def test_robots_have_the_physics_they_have_without_it(made_up: list[MadeUpEstimator]) -> None:
    """The same seed gives the same domains, so conditions can be compared."""
    one, other = (
        make("mujoco", 3, "robust", 5).simulator for make in (estimated_task, evaluation_task)
    )
    with one, other:
        for name, values in vars(other.domain).items():
            np.testing.assert_array_equal(getattr(one.domain, name), values, err_msg=name)


@pytest.mark.parametrize("sim", ["mujoco", "pybullet"])
def test_a_shipped_skill_walks_on_estimates(sim: str) -> None:
    """It reaches the commanded velocity without a fall; the estimate is nearly true."""
    policy, seen = SkillPolicy.read(SHIPPED_RUN / "policy.h5"), []

    def act(observation: np.ndarray) -> np.ndarray:
        seen.append(observation)
        return policy.mean_action(observation, 2)

    task = estimated_task(sim, 2, "none", 0)
    with task.simulator:
        recording = record(task, act, 100)
    assert not recording.ever_fallen.any()
    true, believed = (
        recording.linear_velocity_b[50:-1, :, 0],
        np.array(seen)[51:, :, TERMS["linear_velocity"].start],
    )
    assert (true.mean(0) > 0.8).all()
    assert 0.0 < abs(believed - true).mean() < 0.15
