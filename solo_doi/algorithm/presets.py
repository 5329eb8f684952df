"""Presets: settings that work on our data, settings of the paper, and changes for Gym data."""

from __future__ import annotations

from dataclasses import replace

from solo_doi.common.errors import UnknownNameError

from .part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
    PolicyConfig,
    ValueConfig,
)
from .train_config import TrainConfig

DEFAULT = TrainConfig()

PAPER = TrainConfig(
    outer=350,
    subset=17_000,  # the discriminator learns from nine tenths of them
    checkpoints=4,
    full_passes=4,
    diversity_weight=1.0,
    truncation=1.0,
    projection=("linear_velocity.x", "linear_velocity.y", "angular_velocity.z"),
    classifier=ClassifierConfig(
        average=1, updates=4000, lr=3e-4, gradient_penalty=10.0, reward_scale=1.0
    ),
    # The paper does not state the number of updates of the expert's value.
    value=ValueConfig(hidden=256, expert_updates=20_000, updates=200),
    discriminator=DiscriminatorConfig(
        average=1, hidden=256, updates=200, batch=512, lr=3e-4, log_floor=-20.0, hold=0.0
    ),
    multiplier=MultiplierConfig(lr=0.2),
    policy=PolicyConfig(
        batch=512,
        lr=3e-4,
        resampled=False,
        trajectory_weights=False,
        squashed=True,
        entropy=True,
        in_loop=True,
    ),
)
"""The printed equations, with the sizes of the paper's code. Learned skills become alike."""

ALL_OBSERVATIONS = ("observation",)
"""Term of data without named terms, such as D4RL; holds all numbers."""


def preset(name: str, task: str) -> TrainConfig:
    """Return the settings of a preset, `default` or `paper`, for a task."""
    known = {"default": DEFAULT, "paper": PAPER}
    if name not in known:
        raise UnknownNameError("preset", name, known)
    config = known[name]
    if task == "locomotion":
        return config
    # Episodes of Gym tasks may be short and start anywhere: no averages, shorter pieces.
    classifier = replace(
        config.classifier,
        terms=ALL_OBSERVATIONS,
        average=1,
        gradient_penalty=10.0,
        reward_scale=1.0,
        updates=3000,
    )
    return replace(
        config,
        projection=(),
        classifier=classifier,
        value=replace(config.value, windows=32, window=16),
        discriminator=replace(config.discriminator, terms=ALL_OBSERVATIONS, average=1),
    )
