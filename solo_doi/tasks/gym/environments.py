"""Numbers of Gymnasium's environments, version 5, and of D4RL's scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.sim.gym.gym_simulator import GymModel, GymState
from solo_doi.solo12.constants import Array

Interval = tuple[float, float]
UNBOUNDED: Interval = (-np.inf, np.inf)


@dataclass(frozen=True, kw_only=True)
class GymEnvironment:
    """One environment: robot, observation, reward, start and end of an episode."""

    name: str
    """Name of the task."""
    gymnasium: str
    """Name in Gymnasium."""
    model: GymModel
    """Robot."""
    motors: tuple[str, ...]
    """Joints with motors, in the order of actions."""
    control_dt: float
    """Duration of a control step [s]."""
    start: tuple[float, ...]
    """Positions of all joints at the start."""
    num_velocities: int
    """Velocities of all joints: one fewer than positions for a free root."""
    start_noise: float
    """Amplitude of the noise on start positions and velocities."""
    normal_velocity: bool
    """True if that noise is normal for velocities; it is uniform for positions."""
    hidden_positions: int
    """First joint positions, which are not observed."""
    num_bodies: int = 0
    """Bodies whose contact forces are observed, world excluded."""
    velocity_clip: float = np.inf
    """Largest observed velocity."""
    contact_clip: float = 1.0
    """Largest component of an observed contact force."""
    healthy_reward: float = 0.0
    """Reward for a step in a healthy state."""
    control_cost: float
    """Weight of the squared actions."""
    contact_cost: float = 0.0
    """Weight of the squared contact forces."""
    healthy_height: Interval = UNBOUNDED
    """Limits of the root's height; outside, an episode ends."""
    height_joint: int = 1
    """Joint position that is the root's height."""
    healthy_pitch: Interval = UNBOUNDED
    """Limits of the root's pitch [rad]."""
    healthy_others: float = np.inf
    """Limit of all joint positions and velocities from the pitch on."""
    random_return: float
    """Return of a random policy that D4RL counts as 0."""
    expert_return: float
    """Return of an expert that D4RL counts as 100."""
    random_steps: float
    """Mean length of a random policy's episodes [steps], measured."""
    older_zeros: tuple[int, int] | None = None
    """Range of numbers, always zero, that observations of earlier versions have in addition."""

    @property
    def observation_size(self) -> int:
        """Number of values in an observation."""
        positions = len(self.start) - self.hidden_positions
        return positions + self.num_velocities + 6 * self.num_bodies

    @property
    def can_end(self) -> bool:
        """True if an episode can end before its time limit."""
        return self.healthy_height != UNBOUNDED

    def observe(self, state: GymState) -> np.ndarray:
        """Return observations, (N, observation)."""
        values = [
            state.joint_position[:, self.hidden_positions :],
            np.clip(state.joint_velocity, -self.velocity_clip, self.velocity_clip),
        ]
        if self.num_bodies:
            forces = state.contact_force[:, -self.num_bodies :]
            clipped = np.clip(forces, -self.contact_clip, self.contact_clip)
            values.append(clipped.reshape(len(forces), -1))
        return np.concatenate(values, axis=1)

    def healthy(self, state: GymState) -> np.ndarray:
        """Return which robots may go on, (N,)."""
        height = state.joint_position[:, self.height_joint]
        low, high = self.healthy_height
        healthy = (low < height) & (height < high)
        if self.model.planar:
            pitch = state.joint_position[:, 2]
            others = np.concatenate([state.joint_position[:, 2:], state.joint_velocity], axis=1)
            healthy &= (self.healthy_pitch[0] < pitch) & (pitch < self.healthy_pitch[1])
            healthy &= (np.abs(others) < self.healthy_others).all(axis=1)
        return healthy

    def reward(self, state: GymState, velocity: Array, action: Array) -> Array:
        """Return rewards (N,) for a forward velocity (N,) [m/s] and actions (N, motors)."""
        reward = velocity + self.healthy_reward * self.healthy(state)
        cost = self.control_cost * np.square(action).sum(axis=1)
        if self.contact_cost:
            forces = np.clip(state.contact_force, -self.contact_clip, self.contact_clip)
            cost = cost + self.contact_cost * np.square(forces.reshape(len(forces), -1)).sum(axis=1)
        return reward - cost

    def normalised(self, returns: Array) -> Array:
        """Return D4RL's score of returns: 0 for a random policy, 100 for an expert."""
        return 100 * (returns - self.random_return) / (self.expert_return - self.random_return)


HOPPER = GymEnvironment(
    name="hopper",
    gymnasium="Hopper-v5",
    model=GymModel(file="hopper.xml", frame_skip=4, planar=True),
    motors=("thigh_joint", "leg_joint", "foot_joint"),
    control_dt=0.008,
    start=(0.0, 1.25, 0.0, 0.0, 0.0, 0.0),
    num_velocities=6,
    start_noise=5e-3,
    normal_velocity=False,
    hidden_positions=1,
    velocity_clip=10.0,
    healthy_reward=1.0,
    control_cost=1e-3,
    healthy_height=(0.7, np.inf),
    healthy_pitch=(-0.2, 0.2),
    healthy_others=100.0,
    random_return=-20.272305,
    expert_return=3234.3,
    random_steps=22.4,
)
WALKER2D = GymEnvironment(
    name="walker2d",
    gymnasium="Walker2d-v5",
    model=GymModel(file="walker2d_v5.xml", frame_skip=4, planar=True),
    motors=(
        "thigh_joint",
        "leg_joint",
        "foot_joint",
        "thigh_left_joint",
        "leg_left_joint",
        "foot_left_joint",
    ),
    control_dt=0.008,
    start=(0.0, 1.25, *(0.0,) * 7),
    num_velocities=9,
    start_noise=5e-3,
    normal_velocity=False,
    hidden_positions=1,
    velocity_clip=10.0,
    healthy_reward=1.0,
    control_cost=1e-3,
    healthy_height=(0.8, 2.0),
    healthy_pitch=(-1.0, 1.0),
    random_return=1.629008,
    expert_return=4592.3,
    random_steps=21.3,
)
HALFCHEETAH = GymEnvironment(
    name="halfcheetah",
    gymnasium="HalfCheetah-v5",
    model=GymModel(file="half_cheetah.xml", frame_skip=5, planar=True),
    motors=("bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"),
    control_dt=0.05,
    start=(0.0,) * 9,
    num_velocities=9,
    start_noise=0.1,
    normal_velocity=True,
    hidden_positions=1,
    control_cost=0.1,
    random_return=-280.178953,
    expert_return=12135.0,
    random_steps=1000.0,
)
ANT = GymEnvironment(
    name="ant",
    gymnasium="Ant-v5",
    model=GymModel(file="ant.xml", frame_skip=5, planar=False, contact_forces=True),
    motors=("hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"),
    control_dt=0.05,
    start=(0.0, 0.0, 0.75, 1.0, *(0.0,) * 11),
    num_velocities=14,
    start_noise=0.1,
    normal_velocity=True,
    hidden_positions=2,
    num_bodies=13,
    healthy_reward=1.0,
    control_cost=0.5,
    contact_cost=5e-4,
    healthy_height=(np.nextafter(0.2, 0.0), np.nextafter(1.0, 2.0)),  # both ends are healthy
    height_joint=2,
    random_return=-325.6,
    expert_return=3879.7,
    random_steps=165.0,
    older_zeros=(27, 33),  # contact forces of the world
)
ENVIRONMENTS = (WALKER2D, HALFCHEETAH, HOPPER, ANT)
