"""Joint targets and gains in each state: damping, slow motions between poses, steps of a skill."""

from __future__ import annotations

import math

import numpy as np

from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Fault
from deploy.common.poses import LYING, Glide
from deploy.common.robot_constants import DAMPING_GAIN, TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import POWERED, ControllerState
from deploy.messages.lcm_link import Mode
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.sensors import estimated_motion

from .safety import Safety
from .skill_runner import SkillRunner

LOWEST = -TRAINING_LIMITS.position
"""Lower limit of joint targets [rad]."""
HIGHEST = TRAINING_LIMITS.position
"""Upper limit of joint targets [rad]."""
LATE_STEP = 10 * TICK
"""Lateness of a policy step from which it is caught up at once [s]."""
GENTLE_SIT_SECONDS = 2.5
"""Duration of lying down after a fault; the robot process, alone, takes 2.4 s at most [s]."""


class MotionGenerator:
    """Joint targets and gains of one robot, updated every tick; the controller sets the state."""

    def __init__(self, bundle: Bundle, config: ControllerConfig, safety: Safety) -> None:
        """Start damped; `safety` checks the targets of skills."""
        self._bundle = bundle
        self._contract = bundle.contract
        self._config = config
        self._safety = safety
        self._pose = np.array(self._contract.default_pose)
        self._ticks_per_step = round(self._contract.control_dt / TICK)
        self._lowest_command = np.array(self._contract.command_range["low"])
        self._highest_command = np.array(self._contract.command_range["high"])
        self._command = np.array(self._contract.command)
        self._entered_at = 0.0
        self._switched_on_at = 0.0
        self._sit_seconds = config.sit_seconds
        self._stopping = False
        self.observation: np.ndarray | None = None
        """Observation of the policy step in this tick; None if no step was due."""
        self.arrived = False
        """True if a slow motion has ended in this tick."""
        self.damp(None)
        self._requested_command = np.array(self._contract.command)

    def damp(self, sensors: Sensors | None) -> None:
        """Switch to damping; the targets are the measured joint positions, zero if unknown."""
        self._reset_requested_command()
        self.mode = Mode.DAMP
        self.kp = 0.0
        self.kd = DAMPING_GAIN
        self.target = np.zeros(NUM_JOINTS)
        if sensors is not None:
            self.target = sensors.joint_position

    def command_velocity(self, velocity: Array) -> None:
        """Request a velocity command, clipped to the command range of the skills."""
        self._requested_command = np.clip(velocity, self._lowest_command, self._highest_command)

    def enter(
        self,
        state: ControllerState,
        before: ControllerState,
        sensors: Sensors,
        skill: int,
        *,
        gently: bool = False,
    ) -> None:
        """Start the motion of a state in which motors hold positions.

        With `gently`, lying down takes at least `GENTLE_SIT_SECONDS`.
        """
        self._sit_seconds = self._config.sit_seconds
        if gently:
            self._sit_seconds = max(self._sit_seconds, GENTLE_SIT_SECONDS)
        # A stop from walking that has begun is completed first.
        stops = before is ControllerState.WALK or (self._stopping and before in POWERED)
        if not (stops and self._stopping):
            self._entered_at = sensors.time
        if before not in POWERED:
            self._safety.on_power(sensors)
            self._switched_on_at = sensors.time
        if state is ControllerState.WALK:
            self._stopping = False
            self._start_walk(skill)
            return
        # After a walk, the policy continues with shrinking steps until the robot stands.
        self._stopping = stops
        if self._stopping:
            self._reset_requested_command()
        else:
            self._use_pose_gains()
        self._glide = self._next_glide(state, before, sensors)

    @property
    def forward_command(self) -> float:
        """Forward velocity command that the policy receives now [m/s]."""
        return float(self._command[0])

    def switch_skill(self, skill: int) -> None:
        """Blend to another skill while walking."""
        self._skill_runner.switch(skill)

    def update(self, state: ControllerState, sensors: Sensors, estimate: Estimate) -> Fault | None:
        """Compute the target of this tick; return a fault if a skill's target is unsafe."""
        self.observation = None
        self.arrived = False
        if state is ControllerState.WALK:
            return self._step(sensors, estimate, 1.0)
        time = sensors.time - self._entered_at
        if self._stopping:
            scale = 1.0 - time / self._config.stop_seconds
            if scale > 0.0:
                return self._step(sensors, estimate, scale)
            self._stopping = False
            self._entered_at = sensors.time
            time = 0.0
            self._use_pose_gains()
        self.target = self._glide.target(time)
        powered_for = sensors.time - self._switched_on_at
        self.kp = self._contract.kp * min(1.0, powered_for / self._config.power_seconds)
        self.arrived = self._glide.arrived(time)
        return None

    def _start_walk(self, skill: int) -> None:
        self._skill_runner = SkillRunner(self._bundle, skill)
        self._ticks_walked = 0
        self._stepped_at = math.inf
        self._safety.on_policy()
        self.mode = Mode.POLICY
        self.kd = self._contract.kd
        self._command = np.zeros(3)
        if self._command_is_fixed():
            self._command = np.array(self._contract.command)

    def _use_pose_gains(self) -> None:
        self.mode = Mode.MOVE
        self.kd = self._config.pose_kd

    def _step(self, sensors: Sensors, estimate: Estimate, scale: float) -> Fault | None:
        """Run the skill if a step is due; `scale` below 1 shrinks steps towards standing."""
        if sensors.time - self._stepped_at > self._contract.control_dt + LATE_STEP:
            self._ticks_walked = 0  # after a stall, at once: the last observation is too old
        due = self._ticks_walked % self._ticks_per_step == 0
        self._ticks_walked += 1
        if not due:
            return None
        self._stepped_at = sensors.time
        self._ramp_command()
        motion = estimated_motion(sensors.joint_position, sensors.joint_velocity, estimate)
        target = self._skill_runner.step(motion, self._command)
        self.observation = self._skill_runner.observation
        target = self._pose + scale * (target - self._pose)
        excess = self._skill_runner.excess
        fault = self._safety.check_policy(target, self.target, excess, sensors.time)
        if fault is None:
            self.target = target.clip(LOWEST, HIGHEST)
        return fault

    def _reset_requested_command(self) -> None:
        """Request zero velocity, or the only command of skills that cannot stand still.

        A walk must not start with the command of the previous walk.
        """
        can_stand = (self._lowest_command <= 0.0).all() and (self._highest_command >= 0.0).all()
        self._requested_command = np.array(self._contract.command)
        if can_stand:
            self._requested_command = np.zeros(3)

    def _ramp_command(self) -> None:
        step = self._config.command_rate * self._contract.control_dt
        self._command += (self._requested_command - self._command).clip(-step, step)

    def _next_glide(
        self, state: ControllerState, before: ControllerState, sensors: Sensors
    ) -> Glide:
        """Return the slow motion of a state, from the last targets or the measured joints."""
        if self._stopping:
            start = self._pose
        elif before in POWERED:
            start = self.target
        else:
            # Joints of a robot on its belly may be beyond the limits of targets.
            start = sensors.joint_position.clip(LOWEST, HIGHEST)
        if state is ControllerState.STAND:
            duration = self._config.stand_seconds
            if before is ControllerState.WALK:
                duration = 0.0  # the shrinking steps end in the standing pose
            return Glide(start, self._pose, duration)
        if state is ControllerState.SIT:
            return Glide(start, LYING, self._sit_seconds)
        return Glide(self._pose, self._pose, float("inf"))

    def _command_is_fixed(self) -> bool:
        return self._contract.command_range["low"] == self._contract.command_range["high"]
