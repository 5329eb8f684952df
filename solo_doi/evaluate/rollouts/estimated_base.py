"""Robots that know of their base what the deployed estimator tells them, at the rate of the deployment."""

from __future__ import annotations

import numpy as np

from solo_doi.sim import SimConfig, Simulator, make_simulator
from solo_doi.solo12.constants import CONTROL_DT, GRAVITY, NUM_JOINTS, SENSE_DT, Array
from solo_doi.solo12.estimator import Estimate, Estimator
from solo_doi.solo12.observation import Inputs
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.sensors import SensorNoise, estimated_motion
from solo_doi.solo12.state import Motion, RobotState
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

from .recording import one_command

STANDING = round(0.5 / SENSE_DT)
"""Ticks for which robots stand before they walk, as they do on the ground: the estimator finds the tilt meanwhile."""
UP_W = np.array([0.0, 0.0, GRAVITY])


class EstimatedTask(LocomotionTask):
    """Locomotion whose observations are made of simulated sensors, one estimator per robot; episodes never end.

    The simulator must step at `SENSE_DT`. Errors that training adds to observations have no place here: white noise
    is that of the sensors, and the constant errors of a preset are those of gyroscope, accelerometer and encoders.
    """

    def __init__(
        self, simulator: Simulator, config: LocomotionConfig, rng: np.random.Generator
    ) -> None:
        """Place the robots and let them stand."""
        super().__init__(simulator, config, rng)
        self._rng = rng
        self._noise = SensorNoise()
        self._estimators = [Estimator() for _ in range(simulator.num_robots)]
        self._velocity_w = _velocity_w(simulator.state())
        self._measured: tuple[Array, ...] = ()
        self._estimates: list[Estimate] = []
        for _ in range(STANDING):
            self._tick(self.target)

    def _simulate(self, target: Array) -> RobotState:
        for _ in range(round(CONTROL_DT / SENSE_DT) - 1):
            self._tick(target)
        return self._tick(target)

    def _tick(self, target: Array) -> RobotState:
        state = self.simulator.step(target)
        self._measured = self._measure(state)
        self._estimates = [
            estimator.update(*measured, SENSE_DT)
            for estimator, *measured in zip(self._estimators, *self._measured, strict=True)
        ]
        return state

    def _measure(self, state: RobotState) -> tuple[Array, ...]:
        """Joint positions, velocities and torques, turning and acceleration as sensors show them, (N, ...) each."""
        noise, count = self._noise, len(state.torque)
        white = self._rng.standard_normal
        bias = {name: self.bias[:, columns] for name, columns in self.layout.slices.items()}
        # From the velocity before the task's push, if there was one: an accelerometer feels it.
        velocity_w = _velocity_w(state)
        acceleration_w, self._velocity_w = (velocity_w - self._velocity_w) / SENSE_DT, velocity_w
        # An IMU that is not mounted level shows gravity where it is not.
        acceleration_b = (
            rotate_inverse(state.base_quaternion, acceleration_w + UP_W) - GRAVITY * bias["gravity"]
        )
        return (
            state.joint_position + bias["joint_position"],
            state.joint_velocity + noise.joint_velocity * white((count, NUM_JOINTS)),
            state.torque,
            state.angular_velocity_b
            + bias["angular_velocity"]
            + noise.angular_velocity * white((count, 3)),
            acceleration_b + noise.acceleration * white((count, 3)),
        )

    def _observe(self, state: Motion) -> np.ndarray:
        position, velocity = self._measured[:2]
        each = [
            estimated_motion(*robot)
            for robot in zip(position, velocity, self._estimates, strict=True)
        ]
        seen = Motion(
            **{name: np.stack([getattr(motion, name) for motion in each]) for name in vars(each[0])}
        )
        return self.layout.build(
            Inputs(motion=seen, previous_action=self.previous_action, command=self.command)
        )


def estimated_task(sim: str, num_robots: int, randomisation: str, seed: int) -> EstimatedTask:
    """Return robots as `evaluation_task` does, in the same domains; all of them begin standing, as real ones do."""
    simulator = make_simulator(
        sim, SimConfig(num_robots=num_robots, physics_dt=SENSE_DT, decimation=1)
    )
    return EstimatedTask(
        simulator, one_command(randomisation, standing_share=1.0), np.random.default_rng(seed)
    )


def _velocity_w(state: RobotState) -> Array:
    return rotate(state.base_quaternion, state.linear_velocity_b)
