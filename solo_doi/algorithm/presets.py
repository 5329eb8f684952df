"""Named configurations: what works on our data, what the paper prints, and what fits Gym-like data."""

from __future__ import annotations

from dataclasses import replace

from solo_doi.common.errors import UnknownNameError

from .train_config import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
    PolicyConfig,
    TrainConfig,
    ValueConfig,
)

DEFAULT = TrainConfig()

PAPER = TrainConfig(
    outer=350,
    subset=17_000,  # of which q learns from nine tenths
    checkpoints=4,
    full_passes=4,
    diversity_weight=1.0,
    truncation=1.0,
    projection=("linear_velocity.x", "linear_velocity.y", "angular_velocity.z"),
    classifier=ClassifierConfig(average=1, updates=4000, lr=3e-4, gradient_penalty=10.0, reward_scale=1.0),
    value=ValueConfig(hidden=256, expert_updates=20_000, updates=200),  # of the expert's, the paper does not tell
    discriminator=DiscriminatorConfig(
        average=1, hidden=256, updates=200, batch=512, lr=3e-4, log_floor=-20.0, hold=0.0
    ),
    multiplier=MultiplierConfig(lr=0.2),
    policy=PolicyConfig(
        batch=512, lr=3e-4, resampled=False, trajectory_weights=False, squashed=True, entropy=True, in_loop=True,
    ),
)  # fmt: skip
"""The printed equations and the sizes of the code they grew from; learned skills become alike."""

EVERYTHING = ("observation",)
"""Foreign data have one term, which holds all numbers."""


def preset(name: str, task: str) -> TrainConfig:
    """Return a named configuration for a task."""
    known = {"default": DEFAULT, "paper": PAPER}
    if name not in known:
        raise UnknownNameError("preset", name, known)
    config = known[name]
    if task == "locomotion":
        return config
    # Episodes of Gym tasks may be short and start anywhere: no averages, shorter pieces.
    return replace(
        config,
        projection=(),
        classifier=replace(
            config.classifier,
            terms=EVERYTHING,
            average=1,
            gradient_penalty=10.0,
            reward_scale=1.0,
            updates=3000,
        ),
        value=replace(config.value, windows=32, window=16),
        discriminator=replace(config.discriminator, terms=EVERYTHING, average=1),
    )
