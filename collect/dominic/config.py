"""Everything that can be set about a pre-training run; the string under a field is its help text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from solo_doi.tasks.locomotion import LocomotionConfig


@dataclass(frozen=True, kw_only=True)
class DiversityConfig:
    """What makes skills differ, and how much of the task they may give up for it."""

    burn_in: int = 300
    """Last iteration, counted from 0, in which all skills only learn the task."""
    alpha: float = 0.8
    """Share of the target skill's task value that every other skill must keep."""
    multiplier_lr: float = 0.02
    """Adam step of the multipliers, once per iteration."""
    multiplier_bound: float = 2.0
    """Raw multipliers stay within +- this: weights within 0.12 to 0.88."""
    value_decay: float = 0.9
    """Decay per iteration of the running task values that are compared."""
    successor_gamma: float = 0.95
    """Discount of successor features."""
    attraction: float = 0.0
    """Van der Waals: share of the attractive force; 0 is purely repulsive."""
    length: float = 1.0
    """Van der Waals: distance at which the two forces have the same ratio."""
    attract_power: float = 3.0
    """Van der Waals: power of the attractive force."""
    repel_power: float = 0.0
    """Van der Waals: power of the repulsive force."""


@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """One run of DOMiNiC: PPO with one value per reward group, skills, and a diversity objective."""

    task: Literal["locomotion"] = "locomotion"
    """What is to be learned."""
    episode: LocomotionConfig = field(default_factory=LocomotionConfig)
    diversity: DiversityConfig = field(default_factory=DiversityConfig)
    sim: Literal["mujoco", "isaacgym"] = "mujoco"
    """Simulator to train in; PyBullet is too slow. Isaac Gym cannot save robots: resumed runs start new episodes."""
    seed: int = 1
    iterations: int = 600
    num_skills: int = 1
    """Skills to train; skill 0 is the target skill, which never trades the task for diversity."""
    num_robots: int = 512
    """Robots side by side; 4096 by default in Isaac Gym."""
    steps: int = 24
    """Control steps per robot and iteration."""
    policy_hidden: tuple[int, int] = (128, 64)
    value_hidden: tuple[int, int] = (128, 64)
    mask_keep: float = 0.5
    """Probability that a hidden unit belongs to a skill."""
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    minibatches: int = 4
    lr: float = 1e-3
    """First learning rate of policy and values; adapted to keep the policy's change near `target_kl`."""
    target_kl: float = 0.012
    successor_lr: float = 1e-3
    entropy: float = 0.005
    action_std: float = 1.0
    """Standard deviation of the actions at the start; weights taken over by --start explore at least so much."""
    max_grad_norm: float = 1.0
    regular_weight: float = 0.6
    """Weight of the regularity rewards' advantage."""
    regular_start: float = 0.1
    """Share of that weight at the start: penalised from the first step, the robot learns to stand still."""
    regular_steps: int = 3_000_000
    """Control steps after which the weight is full."""
    command_growth: float = 0.0
    """Share of the iterations over which commands spread from straight ahead to their ranges; 0: at once. Thrown at
    all commands from the start, a robot that walks forward learns to stand when asked for anything unlike it."""
    checkpoints: tuple[int, ...] = ()
    """Iterations after which the policy is kept, counted from 0; the last always is."""
    torch_threads: int = 1
    """Threads of the learner. Weights are the same bit for bit only with the same number; more than one is a
    little faster on an idle machine, and ten times slower on one where another program takes a core."""
    save_every: int = 25
    """Iterations between saves of the whole state, from which a killed run continues."""
