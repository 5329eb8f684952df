"""Settings of training: invalid values, and the values of the presets."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from solo_doi.algorithm.part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
    PolicyConfig,
    ValueConfig,
)
from solo_doi.algorithm.presets import DEFAULT, GYM_EXACT, PAPER, VERSION_0_1, preset
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common import settings as files
from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.runs.run_config import task_preset


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eps": -0.1}, r"eps is -0\.1: expected 0 or more"),
        ({"eps": float("nan")}, "eps is nan"),
        ({"eps": float("inf")}, "eps is inf"),
        ({"seed": -1}, "seed is -1"),
        ({"torch_threads": 0}, "torch_threads is 0"),
        ({"diversity_weight": math.nan}, "diversity_weight is nan: expected a finite number"),
        ({"multiplier": MultiplierConfig(lr=-1.0)}, "multiplier.lr is -1.0: expected above 0"),
        (
            {"discriminator": DiscriminatorConfig(updates=0)},
            "discriminator.updates is 0: expected 1 or more",
        ),
        (
            {"classifier": ClassifierConfig(average=0)},
            "classifier.average is 0: expected 1 or more",
        ),
        ({"reach": 0.0}, "reach is 0.0: expected above 0"),
        (
            {"classifier": ClassifierConfig(terms=())},
            r"classifier\.terms is \(\): expected one term or more",
        ),
        ({"discriminator": DiscriminatorConfig(terms=())}, r"discriminator\.terms is \(\)"),
        ({"classifier": ClassifierConfig(batch=0)}, r"classifier\.batch is 0: expected 1 or more"),
        ({"value": ValueConfig(window=0)}, r"value\.window is 0"),
        ({"value": ValueConfig(initial_batch=0)}, r"value\.initial_batch is 0"),
        ({"discriminator": DiscriminatorConfig(members=0)}, r"discriminator\.members is 0"),
        ({"policy": PolicyConfig(hidden=0)}, r"policy\.hidden is 0"),
        ({"value": ValueConfig(lr=0.0)}, r"value\.lr is 0\.0: expected above 0"),
        ({"policy": PolicyConfig(lr=float("nan"))}, r"policy\.lr is nan"),
        (
            {"objective": "unconstrained:nan"},
            "objective is unconstrained:nan: expected a finite weight",
        ),
        ({"skills": 1}, "skills is 1: expected 2 or more; smodice needs 1"),
        ({"skills": 0, "objective": "smodice"}, "skills is 0"),
        ({"gamma": 1.0}, r"gamma is 1\.0: expected between 0 and 1"),
        ({"gamma": 0.0}, r"gamma is 0\.0"),
        ({"outer": 0}, "outer is 0: expected 1 or more"),
        ({"truncation": 0.4}, r"truncation is 0\.4: expected between 0\.5 and 1"),
        ({"truncation": 1.1}, r"truncation is 1\.1"),
        (
            {"multipliers": "fixed:1.5"},
            r"multipliers is fixed:1\.5: expected a fixed sigma between 0 and 1",
        ),
        ({"multipliers": "fixed:nan"}, "multipliers is fixed:nan"),
        (
            {"multipliers": "fixed"},
            "'fixed': expected --multipliers learned or --multipliers fixed:0.5",
        ),
        ({"multipliers": "fixed:much"}, "'fixed:much': expected"),
        ({"multipliers": "free"}, "'free': expected"),
        (
            {"objective": "bc"},
            "'bc': expected --objective doi, smodice, clusters or unconstrained:0.5",
        ),
        ({"objective": "unconstrained"}, "'unconstrained': expected"),
        ({"objective": "unconstrained:x"}, "'unconstrained:x': expected"),
        ({"data_pull": -0.5}, r"data_pull is -0\.5"),
        ({"data_pull": 1.5}, r"data_pull is 1\.5"),
        ({"data_pull": 0.0, "multipliers": "fixed:0"}, "data_pull 0 with sigma 0"),
        ({"subset": 99}, "subset is 99: expected 100 rows or more"),
        ({"save_every": 0}, "save_every is 0"),
        ({"checkpoints": -1}, "checkpoints is -1: expected 0 or more"),
        ({"full_passes": -1}, "full_passes is -1: expected 0 or more"),
        (
            {"value": ValueConfig(weight_decay=-1.0)},
            r"value\.weight_decay is -1\.0: expected 0 or more",
        ),
        (
            {"classifier": ClassifierConfig(gradient_penalty=-1.0)},
            r"classifier\.gradient_penalty is -1\.0: expected 0 or more",
        ),
        (
            {"discriminator": DiscriminatorConfig(disdain=-0.1)},
            r"discriminator\.disdain is -0\.1: expected 0 or more",
        ),
        ({"discriminator": DiscriminatorConfig(hold=1.0)}, r"discriminator\.hold is 1\.0"),
        ({"discriminator": DiscriminatorConfig(held_out=0.6)}, r"discriminator\.held_out is 0\.6"),
        ({"policy": PolicyConfig(updates=0)}, r"policy\.updates is 0: expected 1 or more"),
        (
            {"policy": PolicyConfig(expert_updates=0)},
            r"policy\.expert_updates is 0: expected 1 or more",
        ),
        (
            {"policy": PolicyConfig(entropy=True)},
            r"policy\.entropy is True: expected off unless policy\.squashed is on",
        ),
    ],
)
def test_invalid_settings_are_refused(changes: dict[str, object], message: str) -> None:
    """The error names the setting, the value found and the values expected."""
    with pytest.raises(SoloError, match=message):
        TrainConfig(**changes).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"eps": 0.0},
        {"skills": 1, "objective": "smodice"},
        {"multipliers": "fixed:0", "data_pull": 1.0},
        {"multipliers": "fixed:1", "data_pull": 0.0},
        {"data_pull": 0.0},
        {"objective": "unconstrained:0.5"},
        {"truncation": 0.5},
        {"discriminator": DiscriminatorConfig(hold=0.0, held_out=0.5)},
        {"policy": PolicyConfig(entropy=True, squashed=True)},
    ],
)
def test_valid_settings_pass(changes: dict[str, object]) -> None:
    """The limits of the allowed ranges are valid."""
    TrainConfig(**changes).check()  # type: ignore[arg-type]


def test_multipliers_are_learned_or_a_number() -> None:
    """`fixed_sigma` is None for learned multipliers, else the number after the colon."""
    assert TrainConfig().fixed_sigma is None
    assert TrainConfig(multipliers="fixed:0.25").fixed_sigma == 0.25
    assert TrainConfig(multipliers="fixed:1").fixed_sigma == 1


def test_only_the_unconstrained_objective_has_a_weight() -> None:
    """`alpha` is the number after the colon, and None for other objectives."""
    assert TrainConfig().alpha is None
    assert TrainConfig(objective="smodice").alpha is None
    assert TrainConfig(objective="unconstrained:0.5").alpha == 0.5


@pytest.mark.parametrize("name", ["default", "paper"])
@pytest.mark.parametrize("task", ["locomotion", "gym"])
def test_every_preset_can_be_trained_and_is_read_back(name: str, task: str, tmp_path: Path) -> None:
    """Each preset is written and read back as in a run."""
    chosen = preset(name, task, {} if task == "locomotion" else None)
    chosen.check()
    files.write(chosen, tmp_path / "config.yaml")
    assert files.read(TrainConfig, tmp_path / "config.yaml") == chosen


def test_presets_differ_and_fit_their_task() -> None:
    """Foreign data have one term, so presets for them must not name others."""
    assert preset("default", "locomotion", {}) == TrainConfig()
    assert preset("paper", "locomotion", {}) == PAPER != TrainConfig()
    for name in ("default", "paper"):
        foreign = preset(name, "gym")
        assert (foreign.classifier.terms, foreign.discriminator.terms) == (
            ("observation",),
            ("observation",),
        )
        assert foreign.projection == ()
    assert preset("paper", "gym").policy == PAPER.policy


def test_gym_data_have_one_default_and_keep_that_of_0_1() -> None:
    """All environments share it; --preset 0.1 has the printed classifier and the short cloning."""
    default = preset("default", "gym")
    classifier = default.classifier
    assert (classifier.gradient_penalty, classifier.reward_scale) == (1, 3)
    policy = default.policy
    assert (policy.updates, policy.squashed, policy.averaged_share) == (16_000, True, 0.25)
    assert default.trajectory_power == 0.25
    for task in ("walker2d", "halfcheetah", "hopper", "ant"):
        assert task_preset("default", task) == task_preset("default", "gym") == default
        assert task_preset("gym-exact", task) == GYM_EXACT
    old = preset("0.1", "gym")
    assert (old.classifier.gradient_penalty, old.classifier.reward_scale) == (10, 1)
    assert (old.policy, old.trajectory_power) == (VERSION_0_1.policy, 0)
    assert preset("paper", "gym").classifier.gradient_penalty == 10


def test_an_unknown_preset_names_the_nearest() -> None:
    """The error also lists all known presets."""
    with pytest.raises(
        UnknownNameError,
        match=r"Unknown preset 'papper'\. Did you mean 'paper'\? "
        r"Known: 0\.1, default, gym-exact, paper",
    ):
        preset("papper", "locomotion", {})


def test_the_exact_preset_is_for_gym_data() -> None:
    """It has the exact Lagrangian, logit x 1, no clipping, row weights and next-state means."""
    exact = preset("gym-exact", "gym")
    exact.check()
    assert (exact.data_pull, exact.truncation, exact.classifier.reward_scale) == (0, 1, 1)
    assert exact.value.averaged
    assert not exact.policy.trajectory_weights
    assert not preset("default", "gym").value.averaged
    with pytest.raises(SoloError, match="Preset gym-exact with task locomotion: expected --task"):
        preset("gym-exact", "locomotion", {})


def test_locomotion_presets_are_the_named_ones() -> None:
    assert preset("default", "locomotion", {}) is DEFAULT
    assert preset("paper", "locomotion", {}) is PAPER


def test_the_papers_preset_has_the_printed_settings() -> None:
    """The preset has the printed equations without our factors.

    One projection of three numbers serves both networks; the penalty is 10, with 350 steps.
    """
    assert (PAPER.outer, PAPER.skills) == (350, 5)
    assert (PAPER.diversity_weight, PAPER.data_pull, PAPER.imitation_scale, PAPER.truncation) == (
        1,
        1,
        1,
        1,
    )
    assert PAPER.projection == ("linear_velocity.x", "linear_velocity.y", "angular_velocity.z")
    assert (PAPER.classifier.gradient_penalty, PAPER.classifier.reward_scale) == (10, 1)
    assert PAPER.classifier.average == PAPER.discriminator.average == 1
    assert (PAPER.multipliers, PAPER.objective, PAPER.divergence) == ("learned", "doi", "kl")
    assert PAPER.discriminator.hold == 0
    assert PAPER.value.updates == PAPER.discriminator.updates == 200
    assert PAPER.policy.in_loop
    assert PAPER.policy.entropy
    assert not PAPER.policy.resampled
    assert not PAPER.policy.trajectory_weights


@pytest.mark.parametrize("name", ["0.1", "paper"])
def test_foreign_data_are_seen_whole_and_as_they_are(name: str) -> None:
    """Foreign data have one term.

    All settings that do not concern the data are those of the preset.
    """
    config = preset(name, "halfcheetah")
    assert config.projection == ()
    assert config.classifier.terms == config.discriminator.terms == ("observation",)
    assert config.classifier.average == config.discriminator.average == 1
    named = preset(name, "locomotion", {})
    assert replace(
        config, projection=named.projection, classifier=named.classifier, value=named.value,
        discriminator=named.discriminator,
    ) == named  # fmt: skip
    assert config.value.windows * config.value.window == named.value.windows * named.value.window
