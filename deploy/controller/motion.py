"""What the motors are told in each state: damping, slow motions between poses, the steps of a skill."""

from __future__ import annotations

import numpy as np

from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Fault
from deploy.common.poses import LYING, Glide
from deploy.common.robot_constants import DAMPING, TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import POWERED, ControllerState
from deploy.messages.lcm_link import Mode
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.limits import TRAINING
from solo_doi.solo12.sensors import seen_motion

from .safety import Safety
from .skill_runner import Walker

LOWEST, HIGHEST = -TRAINING.position, TRAINING.position
"""Where joint targets end [rad]."""


class Mover:
    """Joint targets and gains of one robot, tick by tick; which state it is in, others decide."""

    def __init__(self, bundle: Bundle, config: ControllerConfig, safety: Safety) -> None:
        """Begin damped; `safety` judges what skills answer."""
        self._bundle, self._contract, self._config, self._safety = (
            bundle,
            bundle.contract,
            config,
            safety,
        )
        self._pose = np.array(self._contract.default_pose)
        self._policy_ticks = round(self._contract.control_dt / TICK)
        self._command = np.array(self._contract.command)
        self._since = self._switched_on = 0.0
        self._stopping = False
        self.seen: np.ndarray | None = None
        """What the policy saw in this tick, if it was its turn."""
        self.arrived = False
        """Whether a slow motion is at its end."""
        self.damp(None)
        self._wished = np.array(self._contract.command)

    def damp(self, sensors: Sensors | None) -> None:
        """Hold nothing; the target stays where the joints are, if anybody knows."""
        self._forget_wish()
        self.mode, self.kp, self.kd = Mode.DAMP, 0.0, DAMPING
        self.target = np.zeros(NUM_JOINTS) if sensors is None else sensors.joint_position

    def command_velocity(self, velocity: Array) -> None:
        """Take a velocity command, as far as the skills know such."""
        low, high = (np.array(self._contract.command_range[end]) for end in ("low", "high"))
        self._wished = np.clip(velocity, low, high)

    def enter(
        self, state: ControllerState, before: ControllerState, sensors: Sensors, skill: int
    ) -> None:
        """Begin what belongs to a state in which motors hold positions."""
        self._since = sensors.time
        if before not in POWERED:
            self._safety.power_on(sensors)
            self._switched_on = sensors.time
        if state is ControllerState.WALK:
            self._walker, self._walked = Walker(self._bundle, skill), 0
            self._safety.policy_on()
            self.mode, self.kd = Mode.POLICY, self._contract.kd
            self._command = (
                np.array(self._contract.command) if self._fixed_command() else np.zeros(3)
            )
            return
        self._stopping = before is ControllerState.WALK
        if self._stopping:
            self._forget_wish()
        if not self._stopping:
            self.mode, self.kd = Mode.MOVE, self._config.pose_kd
        self._glide = self._next_glide(state, before, sensors)

    @property
    def commanded(self) -> float:
        """Velocity ahead that the policy is asked for now [m/s]."""
        return float(self._command[0])

    def switch(self, skill: int) -> None:
        """Hand over to another skill while walking."""
        self._walker.switch(skill)

    def act(self, state: ControllerState, sensors: Sensors, estimate: Estimate) -> Fault | None:
        """Find the target of this tick; return what is wrong with what a skill answered."""
        self.seen, self.arrived = None, False
        if state is ControllerState.WALK:
            return self._walk(sensors, estimate, 1.0)
        time = sensors.time - self._since
        if self._stopping:
            share = 1.0 - time / self._config.stop_seconds
            if share > 0.0:
                return self._walk(sensors, estimate, share)
            self._stopping, self._since, time = False, sensors.time, 0.0
            self.mode, self.kd = Mode.MOVE, self._config.pose_kd
        self.target = self._glide.target(time)
        self.kp = self._contract.kp * min(
            1.0, (sensors.time - self._switched_on) / self._config.power_seconds
        )
        self.arrived = self._glide.arrived(time)
        return None

    def _walk(self, sensors: Sensors, estimate: Estimate, share: float) -> Fault | None:
        """Step with a skill; with a share below 1, in smaller steps around the standing pose."""
        due = self._walked % self._policy_ticks == 0
        self._walked += 1
        if not due:
            return None
        self._steer()
        motion = seen_motion(sensors.joint_position, sensors.joint_velocity, estimate)
        target = self._walker.step(motion, self._command)
        self.seen = self._walker.observation
        target = self._pose + share * (target - self._pose)
        fault = self._safety.policy(target, self.target, self._walker.excess, sensors.time)
        if fault is None:
            self.target = target.clip(LOWEST, HIGHEST)
        return fault

    def _forget_wish(self) -> None:
        """What was wished for in one walk must not begin the next: stand, where the skills know how to."""
        low, high = (np.array(self._contract.command_range[end]) for end in ("low", "high"))
        still = bool((low <= 0.0).all() and (high >= 0.0).all())
        self._wished = np.zeros(3) if still else np.array(self._contract.command)

    def _steer(self) -> None:
        step = self._config.command_rate * self._contract.control_dt
        self._command += (self._wished - self._command).clip(-step, step)

    def _next_glide(
        self, state: ControllerState, before: ControllerState, sensors: Sensors
    ) -> Glide:
        """The slow motion that belongs to a state, from where the joints were sent or, if they were not, are."""
        # Joints of a robot on its belly may be beyond their limits.
        lying = sensors.joint_position.clip(LOWEST, HIGHEST)
        start = (
            self._pose
            if before is ControllerState.WALK
            else self.target
            if before in POWERED
            else lying
        )
        if state is ControllerState.STAND:
            return Glide(
                start,
                self._pose,
                0.0 if before is ControllerState.WALK else self._config.stand_seconds,
            )
        if state is ControllerState.SIT:
            return Glide(start, LYING, self._config.sit_seconds)
        return Glide(self._pose, self._pose, float("inf"))

    def _fixed_command(self) -> bool:
        return self._contract.command_range["low"] == self._contract.command_range["high"]
