"""Presets: settings that work on our data, of version 0.1, of the paper, and for Gym data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from solo_doi.common import settings
from solo_doi.common.errors import SoloError, UnknownNameError

from .part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
    PolicyConfig,
    ValueConfig,
)
from .train_config import TrainConfig

DEFAULT = TrainConfig()

VERSION_0_1 = TrainConfig(
    eps=2.0,
    outer=120,
    data_pull=1.0,
    trajectory_power=0.0,
    discriminator=DiscriminatorConfig(swing_terms=(), start="random"),
    multiplier=MultiplierConfig(method="gradient"),
    policy=PolicyConfig(averaged_share=0.0),
)
"""The default of version 0.1. Settings that a run of 0.1 does not name have these values."""

PAPER = TrainConfig(
    eps=2.0,
    outer=350,
    subset=17_000,  # the discriminator learns from nine tenths of them
    checkpoints=4,
    full_passes=4,
    diversity_weight=1.0,
    data_pull=1.0,
    trajectory_power=0.0,
    truncation=1.0,
    projection=("linear_velocity.x", "linear_velocity.y", "angular_velocity.z"),
    classifier=ClassifierConfig(
        average=1, updates=4000, lr=3e-4, gradient_penalty=10.0, reward_scale=1.0
    ),
    # The paper does not state the number of updates of the expert's value.
    value=ValueConfig(hidden=256, expert_updates=20_000, updates=200),
    discriminator=DiscriminatorConfig(
        average=1,
        swing_terms=(),
        start="random",
        hidden=256,
        updates=200,
        batch=512,
        lr=3e-4,
        log_floor=-20.0,
        hold=0.0,
    ),
    multiplier=MultiplierConfig(method="gradient", lr=0.2),
    policy=PolicyConfig(
        averaged_share=0.0,
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

GYM_EXACT = TrainConfig(
    eps=2.0,
    outer=640,
    subset=5000,
    full_passes=0,
    trajectory_power=0.0,
    truncation=1.0,
    classifier=ClassifierConfig(
        terms=ALL_OBSERVATIONS, average=1, updates=2000, batch=1024, hidden=64, reward_scale=1.0
    ),
    value=ValueConfig(averaged=True, hidden=64, lr=2e-3, weight_decay=0.0, windows=128, window=8),
    # One update per outer step: the multipliers settle before the discriminator has changed.
    # With a multiplier rate of 0.1, constraint and discriminator chase each other in cycles.
    discriminator=DiscriminatorConfig(
        terms=ALL_OBSERVATIONS,
        average=1,
        swing_terms=(),
        start="random",
        hidden=64,
        members=1,
        updates=1,
        disdain=0.0,
        # Long enough for a multiplier to cross most of its range in steps that shrink to nothing:
        # multipliers and discriminator may chase each other until the hold begins.
        hold=0.4,
    ),
    # The bound keeps multipliers from falling further while the discriminator is still undecided.
    multiplier=MultiplierConfig(method="gradient", lr=0.03, bound=3.0),
    policy=PolicyConfig(hidden=64, updates=3000, averaged_share=0.0, trajectory_weights=False),
)
"""The exact Lagrangian for Gym data with random transitions; no choice that trades bias for speed
or for fewer outliers."""


def preset(name: str, task: str, changes: Mapping[str, Any] | None = None) -> TrainConfig:
    """Return the settings of a preset for a task.

    `changes` are the settings that a task of the robot declares, by nested names; None for data of
    Gym tasks.
    """
    known = {"default": DEFAULT, "0.1": VERSION_0_1, "paper": PAPER, "gym-exact": GYM_EXACT}
    if name not in known:
        raise UnknownNameError("preset", name, known)
    config = known[name]
    if config is GYM_EXACT and changes is not None:
        raise SoloError(f"Preset gym-exact with task {task}: expected --task gym.")
    if changes is not None:
        return (
            settings.from_dict(TrainConfig, changes, f"task {task}", config) if changes else config
        )
    if config is GYM_EXACT:
        return config
    if config is DEFAULT:
        return GYM_DEFAULT
    return _for_gym_data(config)


def _for_gym_data(config: TrainConfig) -> TrainConfig:
    """Return settings for data without named terms, with the printed classifier."""
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


_PRINTED = _for_gym_data(VERSION_0_1)  # settings of skills were chosen on walks of Solo12 alone
GYM_DEFAULT = replace(
    _PRINTED,
    # A few rows of random trajectories have large ratios. On HalfCheetah with 50 expert
    # trajectories, random ones have 3 % of the weight, and 0.03 % with the power mean.
    trajectory_power=0.25,
    # With a penalty of 10 and the logit x 1, random rows that never move keep 15 % of the weight on
    # HalfCheetah, and the cloned robot does not start. Without a penalty, the classifier overfits
    # the one demonstration.
    classifier=replace(_PRINTED.classifier, gradient_penalty=1.0, reward_scale=3.0),
    # Robots that fail do so in closed loop, while they accelerate: long cloning, averaged weights.
    policy=replace(_PRINTED.policy, updates=16_000, averaged_share=0.25, squashed=True),
)
"""The default for Gym data: walker2d, halfcheetah, hopper and ant with one demonstration."""
