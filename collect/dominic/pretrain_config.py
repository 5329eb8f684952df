"""Settings of a pre-training run; the string under a field is its help text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from solo_doi.common.errors import SoloError
from solo_doi.tasks.locomotion import LocomotionConfig

COUNTS = (
    "iterations", "num_robots", "num_skills", "steps", "epochs", "minibatches", "regular_steps",
    "torch_threads", "save_every", "episode.episode_steps", "episode.command_steps",
)  # fmt: skip
"""Settings that must be at least 1."""
SIZES = (
    "clip", "lr", "target_kl", "successor_lr", "action_std", "max_grad_norm",
    "diversity.multiplier_lr", "diversity.multiplier_bound", "diversity.length",
)  # fmt: skip
"""Settings that must be above 0."""
WEIGHTS = ("entropy", "regular_weight", "diversity.attract_power", "diversity.repel_power")
"""Settings that must be at least 0."""
SHARES = (
    "lam", "regular_start", "command_growth", "diversity.alpha", "diversity.attraction",
    "episode.standing_share", "episode.forward_share", "episode.single_share",
)  # fmt: skip
"""Settings that must be between 0 and 1."""
DECAYS = ("gamma", "diversity.value_decay", "diversity.successor_gamma")
"""Settings that must be at least 0 and below 1."""
RANGES = ("episode.command_vx", "episode.command_vy", "episode.command_yaw")
"""Settings with a lower and an upper end."""


@dataclass(frozen=True, kw_only=True)
class DiversityConfig:
    """Diversity objective, and the share of task value that skills must keep."""

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
    """One run of DOMiNiC: PPO with a value per reward group, skills, and a diversity objective."""

    task: Literal["locomotion"] = "locomotion"
    """Task to learn."""
    episode: LocomotionConfig = field(default_factory=LocomotionConfig)
    """Start, commands and end of episodes."""
    diversity: DiversityConfig = field(default_factory=DiversityConfig)
    """Diversity objective of several skills."""
    sim: Literal["mujoco", "isaacgym"] = "mujoco"
    """Simulator to train in. Isaac Gym cannot save robots: resumed runs start new episodes."""
    seed: int = 1
    """Seed of all random draws."""
    iterations: int = 600
    """Iterations of rollout and update."""
    num_skills: int = 1
    """Skills to train; skill 0 is the target skill, which never trades the task for diversity."""
    num_robots: int = 512
    """Robots simulated together. Default in Isaac Gym: 4096."""
    steps: int = 24
    """Control steps per robot and iteration."""
    policy_hidden: tuple[int, int] = (128, 64)
    """Sizes of the policy's hidden layers."""
    value_hidden: tuple[int, int] = (128, 64)
    """Sizes of the hidden layers of values and successor features."""
    mask_keep: float = 0.5
    """Probability that a hidden unit belongs to a skill."""
    gamma: float = 0.99
    """Discount of rewards."""
    lam: float = 0.95
    """Trace decay of generalised advantage estimation."""
    clip: float = 0.2
    """PPO's clip range of the probability ratio."""
    epochs: int = 4
    """Passes over each rollout."""
    minibatches: int = 4
    """Minibatches per epoch."""
    lr: float = 1e-3
    """Initial learning rate of policy and values; adapted to keep the policy near `target_kl`."""
    target_kl: float = 0.012
    """Target of the policy's KL divergence per update."""
    successor_lr: float = 1e-3
    """Learning rate of the successor features."""
    entropy: float = 0.005
    """Weight of the entropy bonus."""
    action_std: float = 1.0
    """Initial standard deviation of actions; with --start, the smallest one."""
    max_grad_norm: float = 1.0
    """Norm to which gradients are clipped."""
    regular_weight: float = 0.6
    """Weight of the regularity rewards' advantage."""
    regular_start: float = 0.1
    """Initial share of that weight: with the full weight from the start, robots learn to stand."""
    regular_steps: int = 3_000_000
    """Control steps after which the weight is full."""
    command_growth: float = 0.0
    """Share of iterations over which commands grow from straight ahead to their ranges; 0: at once.
    With all commands from the start, a robot that walks forward learns to stand at the others."""
    checkpoints: tuple[int, ...] = ()
    """Iterations after which the policy is saved, counted from 0; the last always is."""
    torch_threads: int = 1
    """Threads of the learner. Weights repeat bit for bit only with the same number. More than one
    is a little faster on an idle machine, and ten times slower on a busy one."""
    save_every: int = 25
    """Iterations between saves of the whole state, from which a killed run continues."""

    def check(self) -> None:
        """Refuse invalid settings, before anything is set up."""
        for name, (holds, expected) in self._rules().items():
            if not holds:
                raise SoloError(f"{name} is {attrgetter(name)(self)}: expected {expected}.")
        if self.num_skills > self.num_robots:
            raise SoloError(
                f"{self.num_skills} skills on {self.num_robots} robots: every skill needs a robot. "
                "Set --num-robots to --num-skills or more."
            )
        late = [number for number in self.checkpoints if number > self.iterations]
        if late:
            raise SoloError(
                f"Checkpoints {late} lie beyond the run's {self.iterations} iterations."
            )

    def _rules(self) -> dict[str, tuple[bool, str]]:
        """Return for each setting if it is valid, and the expectation in words."""
        rules: dict[str, tuple[bool, str]] = {}
        for name in COUNTS:
            rules[name] = (attrgetter(name)(self) >= 1, "1 or more")
        for name in SIZES:
            rules[name] = (0 < attrgetter(name)(self) < math.inf, "above 0")
        for name in WEIGHTS:
            rules[name] = (0 <= attrgetter(name)(self) < math.inf, "0 or more")
        for name in SHARES:
            rules[name] = (0 <= attrgetter(name)(self) <= 1, "between 0 and 1")
        for name in DECAYS:
            rules[name] = (0 <= attrgetter(name)(self) < 1, "at least 0 and below 1")
        for name in RANGES:
            low, high = attrgetter(name)(self)
            ordered = -math.inf < low <= high < math.inf
            rules[name] = (ordered, "the lower end first, both finite")
        rules["seed"] = (0 <= self.seed < 2**63, "0 or more, and below 2^63")
        rules["mask_keep"] = (0 < self.mask_keep <= 1, "above 0, and 1 at most")
        rules["policy_hidden"] = (min(self.policy_hidden) >= 1, "1 or more each")
        rules["value_hidden"] = (min(self.value_hidden) >= 1, "1 or more each")
        first = min(self.checkpoints, default=0)
        rules["checkpoints"] = (first >= 0, "iterations from 0 on")
        rules["diversity.burn_in"] = (
            self.diversity.burn_in >= -1,
            "an iteration, or -1 for none",
        )
        return rules
