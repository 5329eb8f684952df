"""Settings of a pre-training run; the string under a field is its help text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

import tyro

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.tasks import task_type
from solo_doi.tasks.features import FeatureSet
from solo_doi.tasks.locomotion import LocomotionConfig

PRETRAIN_COUNTS = (
    "iterations", "num_robots", "num_skills", "steps", "epochs", "minibatches", "regular_steps",
    "torch_threads", "save_every", "diversity.bins", "diversity.bin_steps",
)  # fmt: skip
"""Settings that must be at least 1."""
PRETRAIN_SIZES = (
    "clip", "lr", "target_kl", "successor_lr", "action_std", "max_grad_norm",
    "diversity.multiplier_lr", "diversity.multiplier_bound", "diversity.length",
)  # fmt: skip
"""Settings that must be above 0."""
WEIGHTS = (
    "entropy",
    "regular_weight",
    "mirror",
    "diversity.attract_power",
    "diversity.repel_power",
)
"""Settings that must be at least 0."""
SHARES = (
    "lam", "regular_start", "command_growth", "diversity.alpha", "diversity.attraction",
    "diversity.settle",
)  # fmt: skip
"""Settings that must be between 0 and 1."""
DECAYS = (
    "gamma", "diversity.value_decay", "diversity.successor_gamma", "diversity.bin_decay",
)  # fmt: skip
"""Settings that must be at least 0 and below 1."""
EPISODE_HELP = "Start, commands and end of episodes, by the task."


@dataclass(frozen=True, kw_only=True)
class DiversityConfig:
    """Diversity objective, and the share of task value that skills must keep."""

    burn_in: int = 300
    """Last iteration, counted from 0, in which all skills only learn the task."""
    alpha: float = 0.8
    """Share of the target skill's task value that every other skill must keep."""
    constraint: Literal["task", "score"] = "task"
    """Value that skills must keep a share of: all task rewards, or tracking of the command alone,
    which leaves posture free."""
    multiplier_lr: float = 0.02
    """Adam step of the multipliers, once per iteration."""
    multiplier_bound: float = 2.0
    """Raw multipliers stay within +- this: weights within 0.12 to 0.88."""
    value_decay: float = 0.9
    """Decay per iteration of the running task values that are compared."""
    features: str = "motion"
    """Set of features in which skills are driven apart: motion (DOMiNiC's), or posture, in which
    differences are visible to a person."""
    successor_gamma: float = 0.95
    """Discount of successor features."""
    signal: Literal["successor", "timed"] = "successor"
    """Quantity in which skills are driven apart: successor features of each state, or averages of
    the features by skill and part of the episode. Routes need the second: they differ in the order
    of directions, and states before the box are alike."""
    bins: int = 6
    """Parts of an episode with a separate average; for `timed`."""
    bin_steps: int = 50
    """Control steps of a part; for `timed`."""
    bin_decay: float = 0.95
    """Decay of the averages per iteration; for `timed`."""
    rewarded_bins: int = 3
    """Number of parts, counted from the first, in which differences are rewarded; for `timed`. If
    all parts are rewarded, skills also miss the target in different ways."""
    centred: bool = False
    """Measure features from the midpoint between a skill and its nearest other skill. A skill at
    its own mean features then has a positive reward, so that falling does not pay. DOMiNiC: no."""
    settle: float = 0.0
    """Share of the run, at its end, in which skills settle. The directions in which skills are
    driven apart stay fixed, and multipliers continue from their averages with smaller steps. With
    0, skills oscillate between task and diversity up to the last iteration."""
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

    task: str = "locomotion"
    """Task to learn: a name in `solo_doi.tasks.TASKS`, such as locomotion or navigation."""
    episode: LocomotionConfig = field(default_factory=LocomotionConfig)
    """Start, commands and end of episodes; `for_task` gives it the type of another task."""
    diversity: DiversityConfig = field(default_factory=DiversityConfig)
    """Diversity objective of several skills."""
    sim: Literal["mujoco", "isaacgym", "warp"] = "mujoco"
    """Simulator to train in. On a GPU (isaacgym, warp) robots are not saved: resumed runs start new
    episodes."""
    seed: int = 1
    """Seed of all random draws."""
    iterations: int = 600
    """Iterations of rollout and update."""
    num_skills: int = 1
    """Skills to train; skill 0 is the target skill, which never trades the task for diversity."""
    num_robots: int = 512
    """Robots simulated together. Default on a GPU: 4096."""
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
    """Initial share of that weight. With the full weight from the start, robots learn to stand
    still."""
    regular_steps: int = 3_000_000
    """Control steps after which the weight is full."""
    mirror: float = 0.0
    """Weight of a loss that makes skills mirror images, by `mirrored`."""
    mirrored: Literal["pairs", "each"] = "pairs"
    """Mirror images: pairs: skill 0 of itself, skills 1 and 2, 3 and 4 and so on of each other, so
    that a side that one skill learns need not be learned again; each: every skill of itself, so
    that walks are symmetric and go straight."""
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
        kind = task_type(self.task).config_type
        if type(self.episode) is not kind:
            raise SoloError(
                f"episode is a {type(self.episode).__name__}, task {self.task!r} expects "
                f"a {kind.__name__}."
            )
        for name, (holds, expected) in self._rules().items():
            if not holds:
                raise SoloError(f"{name} is {attrgetter(name)(self)}: expected {expected}.")
        if self.num_skills > self.num_robots:
            raise SoloError(
                f"{self.num_skills} skills on {self.num_robots} robots: every skill needs a robot. "
                "Set --num-robots to --num-skills or more."
            )
        chosen_features(self)
        late = [number for number in self.checkpoints if number > self.iterations]
        if late:
            raise SoloError(
                f"Checkpoints {late} lie beyond the run's {self.iterations} iterations."
            )

    def _rules(self) -> dict[str, tuple[bool, str]]:
        """Return for each setting if it is valid, and the expectation in words."""
        rules: dict[str, tuple[bool, str]] = {}
        for name in PRETRAIN_COUNTS:
            rules[name] = (attrgetter(name)(self) >= 1, "1 or more")
        for name in PRETRAIN_SIZES:
            rules[name] = (0 < attrgetter(name)(self) < math.inf, "above 0")
        for name in WEIGHTS:
            rules[name] = (0 <= attrgetter(name)(self) < math.inf, "0 or more")
        for name in SHARES:
            rules[name] = (0 <= attrgetter(name)(self) <= 1, "between 0 and 1")
        for name in DECAYS:
            rules[name] = (0 <= attrgetter(name)(self) < 1, "at least 0 and below 1")
        for name, rule in self.episode.rules().items():
            rules[f"episode.{name}"] = rule
        rules["seed"] = (0 <= self.seed < 2**63, "0 or more, and below 2^63")
        rules["mask_keep"] = (0 < self.mask_keep <= 1, "above 0, and 1 at most")
        rules["policy_hidden"] = (min(self.policy_hidden) >= 1, "1 or more each")
        rules["value_hidden"] = (min(self.value_hidden) >= 1, "1 or more each")
        rules["diversity.rewarded_bins"] = (self.diversity.rewarded_bins >= 0, "0 or more")
        first = min(self.checkpoints, default=0)
        rules["checkpoints"] = (first >= 0, "iterations from 0 on")
        rules["diversity.burn_in"] = (
            self.diversity.burn_in >= -1,
            "an iteration, or -1 for none",
        )
        return rules


def chosen_features(config: PretrainConfig) -> FeatureSet:
    """Return the set of features that the task's skills are driven apart in."""
    known = task_type(config.task).feature_sets
    if not known:
        raise SoloError(
            f"Task {config.task} has no pre-training: solo-collect takes experts of other projects "
            "with --expert-policy."
        )
    name = config.diversity.features
    if name not in known:
        raise UnknownNameError("set of features", name, known)
    return known[name]


Kind = TypeVar("Kind", bound=PretrainConfig)


@cache
def for_task(kind: type[Kind], task: str) -> type[Kind]:
    """Return `kind` with the episode settings of a task, for files and command lines."""
    episode = task_type(task).config_type
    hint = Annotated[episode, tyro.conf.arg(help=EPISODE_HELP)]  # type: ignore[valid-type]
    body: dict[str, Any] = {
        "__annotations__": {"task": str, "episode": hint},
        "task": task,
        "episode": field(default_factory=episode),
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
    }
    made: type[Kind] = dataclass(frozen=True, kw_only=True)(type(kind.__name__, (kind,), body))
    return made
