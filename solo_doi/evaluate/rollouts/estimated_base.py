"""Locomotion with the deployed estimator in the loop, at its rate of 1 kHz."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from solo_doi.sim import SimConfig, Simulator, make_simulator
from solo_doi.solo12.constants import CONTROL_DT, GRAVITY, NUM_JOINTS, SENSE_DT, UP_W, Array
from solo_doi.solo12.estimator import Estimate, Estimator
from solo_doi.solo12.observation import Inputs
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.sensors import SensorNoise, estimated_motion
from solo_doi.solo12.state import Motion, RobotState
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

from .recording import one_command

STANDING = round(0.5 / SENSE_DT)
"""Sensor periods in which robots stand before they walk, so that the estimator finds the tilt."""


class SensorReadings(NamedTuple):
    """Simulated measurements of N robots, (N, ...) each, in the order of `Estimator.update`."""

    joint_position: Array
    joint_velocity: Array
    torque: Array
    angular_velocity_b: Array
    acceleration_b: Array


class EstimatedTask(LocomotionTask):
    """Locomotion with observations from simulated sensors and one estimator per robot.

    The simulator must step at `SENSE_DT`; episodes never end. The observation noise of training is
    not added. White noise is that of the sensors. The constant errors of a randomisation preset are
    applied to gyroscope, accelerometer and encoders.
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
        self._readings: SensorReadings
        self._estimates: list[Estimate]
        for _ in range(STANDING):
            self._tick(self.target)

    def _simulate(self, target: Array) -> RobotState:
        for _ in range(round(CONTROL_DT / SENSE_DT) - 1):
            self._tick(target)
        return self._tick(target)

    def _tick(self, target: Array) -> RobotState:
        """Advance simulation, sensors and estimators by one sensor period."""
        state = self.simulator.step(target)
        self._readings = self._measure(state)
        self._estimates = []
        for estimator, *readings in zip(self._estimators, *self._readings, strict=True):
            self._estimates.append(estimator.update(*readings, SENSE_DT))
        return state

    def _measure(self, state: RobotState) -> SensorReadings:
        """Return the readings of all sensors, with noise and constant errors."""
        noise = self._noise
        count = len(state.torque)
        white = self._rng.standard_normal
        columns = self.layout.slices
        # The last velocity is from before the task's push, so the accelerometer measures the push.
        velocity_w = _velocity_w(state)
        acceleration_w = (velocity_w - self._velocity_w) / SENSE_DT
        self._velocity_w = velocity_w
        # A tilted IMU measures gravity in a wrong direction.
        tilt = self.bias[:, columns["gravity"]]
        acceleration_b = (
            rotate_inverse(state.base_quaternion, acceleration_w + UP_W) - GRAVITY * tilt
        )
        angular_velocity = state.angular_velocity_b + self.bias[:, columns["angular_velocity"]]
        # Noise is drawn in the order of these arguments: another order gives other results.
        return SensorReadings(
            state.joint_position + self.bias[:, columns["joint_position"]],
            state.joint_velocity + noise.joint_velocity * white((count, NUM_JOINTS)),
            state.torque,
            angular_velocity + noise.angular_velocity * white((count, 3)),
            acceleration_b + noise.acceleration * white((count, 3)),
        )

    def _observe(self, state: Motion) -> np.ndarray:
        """Build observations from the estimates; the true state is not used."""
        readings = self._readings
        motions = []
        for position, velocity, estimate in zip(
            readings.joint_position, readings.joint_velocity, self._estimates, strict=True
        ):
            motions.append(estimated_motion(position, velocity, estimate))
        stacked = {}
        for name in vars(motions[0]):
            stacked[name] = np.stack([getattr(motion, name) for motion in motions])
        seen = Motion(**stacked)
        return self.layout.build(
            Inputs(motion=seen, previous_action=self.previous_action, command=self.command)
        )


def estimated_task(sim: str, num_robots: int, randomisation: str, seed: int) -> EstimatedTask:
    """Return a task in the same domains as `evaluation_task`.

    All robots start standing, as real ones do.
    """
    simulator = make_simulator(
        sim, SimConfig(num_robots=num_robots, physics_dt=SENSE_DT, decimation=1)
    )
    return EstimatedTask(
        simulator, one_command(randomisation, standing_share=1.0), np.random.default_rng(seed)
    )


def _velocity_w(state: RobotState) -> Array:
    return rotate(state.base_quaternion, state.linear_velocity_b)
