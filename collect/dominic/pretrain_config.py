"""Everything that can be set about a pre-training run; the string under a field is its help text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from solo_doi.common.errors import SoloError
from solo_doi.tasks.locomotion import LocomotionConfig

COUNTS = (
    "iterations", "num_robots", "num_skills", "steps", "epochs", "minibatches", "regular_steps", "torch_threads",
    "save_every", "episode.episode_steps", "episode.command_steps",
)  # fmt: skip
"""Settings that count something there must be one of."""
SIZES = (
    "clip", "lr", "target_kl", "successor_lr", "action_std", "max_grad_norm",
    "diversity.multiplier_lr", "diversity.multiplier_bound", "diversity.length",
)  # fmt: skip
"""Settings that mean nothing at 0."""
WEIGHTS = ("entropy", "regular_weight", "diversity.attract_power", "diversity.repel_power")
SHARES = (
    "lam", "regular_start", "command_growth", "diversity.alpha", "diversity.attraction",
    "episode.standing_share", "episode.forward_share", "episode.single_share",
)  # fmt: skip
DECAYS = ("gamma", "diversity.value_decay", "diversity.successor_gamma")
RANGES = ("episode.command_vx", "episode.command_vy", "episode.command_yaw")


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

    def check(self) -> None:
        """Refuse what cannot be trained, before anything is set up."""
        for name, (holds, expected) in self._rules().items():
            if not holds:
                raise SoloError(f"{name} is {attrgetter(name)(self)}: expected {expected}.")
        if self.num_skills > self.num_robots:
            raise SoloError(
                f"{self.num_skills} skills on {self.num_robots} robots: every skill needs a robot. "
                "Set --num-robots to no fewer than --num-skills."
            )
        late = [number for number in self.checkpoints if number > self.iterations]
        if late:
            raise SoloError(
                f"Checkpoints {late} lie beyond the run's {self.iterations} iterations."
            )

    def _rules(self) -> dict[str, tuple[bool, str]]:
        found = {
            name: attrgetter(name)(self)
            for name in (*COUNTS, *SIZES, *WEIGHTS, *SHARES, *DECAYS, *RANGES)
        }
        return {
            **{name: (found[name] >= 1, "1 or more") for name in COUNTS},
            **{name: (0 < found[name] < math.inf, "above 0") for name in SIZES},
            **{name: (0 <= found[name] < math.inf, "0 or more") for name in WEIGHTS},
            **{name: (0 <= found[name] <= 1, "between 0 and 1") for name in SHARES},
            **{name: (0 <= found[name] < 1, "at least 0 and below 1") for name in DECAYS},
            **{
                name: (
                    -math.inf < found[name][0] <= found[name][1] < math.inf,
                    "the lower end first, both finite",
                )
                for name in RANGES
            },
            "seed": (0 <= self.seed < 2**63, "0 or more, and below 2^63"),
            "mask_keep": (0 < self.mask_keep <= 1, "above 0, and 1 at most"),
            "policy_hidden": (min(self.policy_hidden) >= 1, "1 or more each"),
            "value_hidden": (min(self.value_hidden) >= 1, "1 or more each"),
            "checkpoints": (min(self.checkpoints, default=0) >= 0, "iterations from 0 on"),
            "diversity.burn_in": (self.diversity.burn_in >= -1, "an iteration, or -1 for none"),
        }
