"""The locomotion task: flat ground, walk as commanded. What the paper calls Solo12 locomotion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.sim.simulator import Simulator
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import CONTROL_DT, CONTROL_SETUPS, NUM_JOINTS, NUM_LEGS, Array
from solo_doi.solo12.observation import LAYOUTS, Inputs
from solo_doi.solo12.state import Motion, RobotState, standing

from . import rewards
from .randomisation import Randomisation, randomisation

REWARD_GROUPS = ("regular", "task")
FEATURE_NAMES = ("vz", "roll_rate", "pitch_rate", "vz_FL", "vz_FR", "vz_HL", "vz_HR")
"""What skills may differ in: vertical velocity and turning rates of the base, vertical velocities of the feet."""
FORWARD = (1.0, 0.0, 0.0)
MOVING = 0.1
"""Commands with a smaller norm mean standing still."""


@dataclass(frozen=True, kw_only=True)
class LocomotionConfig:
    """How episodes start, what is commanded and when they end."""

    randomisation: str = "robust"
    """Preset of domain randomisation: none, paper or robust."""
    episode_steps: int = 1000
    """Control steps until an episode times out [D.3: 20 s]."""
    early_end: bool = True
    """Whether a robot that falls starts anew; off while datasets are collected."""
    standing_share: float = 0.5
    """Share of episodes that start from the pose in which the controller hands over; the others drop in moving."""
    forward_share: float = 1.0
    """Share of commands that are exactly 1 m/s forward; the others are drawn from the ranges below."""
    command_vx: tuple[float, float] = (-0.5, 1.0)
    command_vy: tuple[float, float] = (-0.4, 0.4)
    command_yaw: tuple[float, float] = (-0.8, 0.8)
    single_share: float = 0.0
    """Share of those drawn commands that keep one of their three numbers: straight, sideways or turning alone."""
    command_steps: int = 250
    """Control steps until a new command is drawn."""


@dataclass(frozen=True)
class Transition:
    """What one step of all robots gave."""

    observation: np.ndarray  # (N, 48) what the policy sees next; of the new episode where one ended
    final_observation: (
        np.ndarray
    )  # (N, 48) the same before robots whose episode ended were placed anew
    reward: np.ndarray  # (N, 2) by `REWARD_GROUPS`
    features: np.ndarray  # (N, 7) by `FEATURE_NAMES`
    fallen: np.ndarray  # (N,) base, shoulder or thigh touches the ground
    timed_out: np.ndarray  # (N,) the episode reached its length
    state: RobotState  # before any reset


@dataclass(frozen=True)
class StepMemory:
    """What rewards compare a step with: the step before."""

    target: Array  # (N, 12)
    foot_position_w: Array  # (N, 4, 3)
    foot_contact: np.ndarray  # (N, 4)


class LocomotionTask:
    """N robots walking; starts episodes, builds observations, gives rewards."""

    layout = LAYOUTS["locomotion"]
    setup = CONTROL_SETUPS["locomotion"]

    def __init__(
        self, simulator: Simulator, config: LocomotionConfig, rng: np.random.Generator
    ) -> None:
        """Start an episode on every robot, at random ages so that not all end at once."""
        self.simulator = simulator
        self.config = config
        self.random: Randomisation = randomisation(config.randomisation)
        self._rng = rng
        robots = simulator.num_robots
        self.command = np.zeros((robots, 3))
        self.previous_action = np.zeros((robots, NUM_JOINTS))
        self.bias = np.zeros((robots, self.layout.size), dtype=np.float32)
        self.age = np.zeros(robots, dtype=np.int64)
        self.target = np.tile(self.setup.default_pose, (robots, 1))
        self.foot_position_w = simulator.state().foot_position_w
        self.foot_contact = np.ones((robots, NUM_LEGS), dtype=bool)
        self.spread = 1.0
        """How far drawn commands spread from straight ahead (0) to their full ranges (1): for a curriculum."""
        self._start(np.arange(robots))
        if config.early_end:
            self.age[:] = rng.integers(0, config.episode_steps, robots)

    def observe(self) -> np.ndarray:
        """Return what the policy sees now, (N, 48)."""
        return self._observe(self.simulator.state())

    def step(self, action: Array) -> Transition:
        """Apply policy outputs (N, 12) for one control step; robots whose episode ends start a new one."""
        target = joint_target(action, self.setup)
        self._push()
        state = self._let_pass(target)
        before = StepMemory(self.target, self.foot_position_w, self.foot_contact)
        reward = group_rewards(state, target, before, self.command)
        # Copies, since `_start` writes into them: neither the caller's action nor the returned state may change.
        self.target, self.previous_action = target, action.copy()
        self.foot_position_w, self.foot_contact = state.foot_position_w.copy(), state.foot_contact
        self.age += 1
        fallen = self.fallen(state)
        timed_out = self.age >= self.config.episode_steps
        # Before observing: what the policy sees next is what the next reward asks for.
        self._draw_commands(np.flatnonzero(self.age % self.config.command_steps == 0))
        final = observation = self._observe(state)
        over = timed_out | fallen if self.config.early_end else timed_out
        if over.any():
            robots = np.flatnonzero(over)
            self._start(robots)
            observation = final.copy()
            observation[robots] = self._observe(self.simulator.state())[robots]
        return Transition(observation, final, reward, features(state), fallen, timed_out, state)

    def save(self) -> dict[str, np.ndarray]:
        """Return all that is needed to continue with the same numbers, apart from the generator's state."""
        return {name: getattr(self, name).copy() for name in SAVED} | self.simulator.save()

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from what `save` returned."""
        for name in SAVED:
            setattr(self, name, saved[name].copy())
        self.simulator.load(saved)

    @staticmethod
    def fallen(state: RobotState) -> np.ndarray:
        """Robots whose base, shoulder or thigh touches the ground; shanks may [D.3]."""
        return np.asarray(state.body_contact[..., NOT_SHANKS].any(axis=-1))

    def _let_pass(self, target: Array) -> RobotState:
        """Hold joint targets for one control step."""
        return self.simulator.step(target)

    def _observe(self, state: Motion) -> np.ndarray:
        inputs = Inputs(motion=state, previous_action=self.previous_action, command=self.command)
        noise = self._rng if self.random.observation_noise else None
        return self.layout.build(inputs, noise) + self.bias

    def _push(self) -> None:
        pushed = np.flatnonzero(
            self._rng.random(len(self.age)) < CONTROL_DT / self.random.push_interval
        )
        if pushed.size:
            largest = self.random.push_velocity
            kick = self._rng.uniform(-largest, largest, (2, len(pushed), 3))
            self.simulator.kick(pushed, kick[0], kick[1])

    def _start(self, robots: np.ndarray) -> None:
        """Begin an episode: new physics, new sensor errors, new command, new pose."""
        rng, count = self._rng, len(robots)
        domain = self.random.draw_domain(count, rng, fixed=self.simulator.unsupported_domain)
        self.simulator.set_domain(self.simulator.possible_domain(domain, robots), robots)
        self.bias[robots] = self.random.draw_bias(count, self.layout, rng)
        home = np.tile(self.setup.default_pose, (count, 1))
        state = self.simulator.reset(
            initial_motion(count, self.config.standing_share, rng), robots, target=home
        )
        self.previous_action[robots] = 0.0
        self.age[robots] = 0
        self.target[robots], self.foot_position_w[robots] = home, state.foot_position_w[robots]
        self.foot_contact[robots] = True
        self._draw_commands(robots)

    def _draw_commands(self, robots: np.ndarray) -> None:
        ranges = np.array([self.config.command_vx, self.config.command_vy, self.config.command_yaw])
        command = self._rng.uniform(ranges[:, 0], ranges[:, 1], (len(robots), 3))
        command = FORWARD + self.spread * (command - FORWARD)
        if self.config.single_share and self.spread == 1:
            kept = np.eye(3)[self._rng.integers(0, 3, len(robots))]
            kept[self._rng.random(len(robots)) >= self.config.single_share] = 1.0
            command *= kept
        command[np.linalg.norm(command, axis=-1) < MOVING] = 0.0
        forward = self._rng.random(len(robots)) < self.config.forward_share
        self.command[robots] = np.where(forward[:, None], FORWARD, command)


SAVED = ("command", "previous_action", "bias", "age", "target", "foot_position_w", "foot_contact")
NOT_SHANKS = np.array([0, 1, 2, 4, 5, 7, 8, 10, 11])


def group_rewards(
    state: RobotState, target: Array, before: StepMemory, command: Array
) -> np.ndarray:
    """Rewards (N, 2) by `REWARD_GROUPS`: terms are multiplied within a group, so each is in (0, 1]."""
    moving = np.linalg.norm(command, axis=-1) > MOVING
    regular = (
        rewards.target_rate(target, before.target)
        * rewards.foot_slip(state, before.foot_position_w)
        * rewards.contact_changes(state.foot_contact, before.foot_contact)
        * rewards.stand_still(state, moving)
        * rewards.torque(state)
    )
    vx, vy, yaw_rate = command.T
    task = (
        rewards.tracking(vx - state.linear_velocity_b[:, 0], 0.3)
        * rewards.tracking(vy - state.linear_velocity_b[:, 1], 0.3)
        * rewards.tracking(yaw_rate - state.angular_velocity_b[:, 2], 0.6)
        * rewards.height(state)
        * rewards.attitude(state)
        * rewards.trot(state, moving)
    )
    return np.stack([regular, task], axis=-1)


def features(state: RobotState) -> np.ndarray:
    """Diversity features, (N, 7)."""
    base = (state.linear_velocity_b[..., 2:], state.angular_velocity_b[..., :2])
    return np.concatenate([*base, state.foot_velocity_w[..., 2]], axis=-1).astype(np.float32)


def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
    """Robots standing as the controller leaves them, or dropping in with random velocities [D.3]."""
    setup = LocomotionTask.setup
    motion = standing(setup, count)
    stands = rng.random(count) < standing_share
    moving = ~stands[:, None]
    motion.base_position_w[:, 2] += np.where(stands, 0.0, rng.uniform(0.0, 0.1, count))
    motion.linear_velocity_b[:] = moving * rng.uniform(-0.5, 0.5, (count, 3))
    motion.angular_velocity_b[:] = moving * rng.uniform(-0.5, 0.5, (count, 3))
    motion.joint_position[:] += rng.uniform(
        -0.05, 0.05, (count, NUM_JOINTS)
    ) + moving * rng.uniform(-0.15, 0.15, (count, NUM_JOINTS))
    return motion
