"""Settings of a training run. Defaults work on our data; `presets` has other sets of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Literal, NamedTuple

from solo_doi.common.errors import SoloError

from .part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
    PolicyConfig,
    ValueConfig,
)

PART_COUNTS = (
    "hidden",
    "batch",
    "windows",
    "window",
    "initial_batch",
    "members",
    "average",
    "updates",
    "expert_updates",
    "start_updates",
)
"""Settings of the parts that must be 1 or more."""


class SettingRule(NamedTuple):
    """Condition on one setting."""

    name: str
    holds: bool
    expected: str


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of one run of DOI."""

    eps: float = 2.7
    """Largest divergence of a skill from the expert [nats]. Below log(skills), skills may end above
    it."""
    skills: int = 5
    """Number of skills."""
    seed: int = 1
    """Seed of all random numbers."""
    objective: str = "doi"
    """doi; smodice: the expert alone; clusters: a baseline, its weights divided by k-means;
    unconstrained:ALPHA: log(d_E / d_O) + ALPHA x diversity."""
    multipliers: str = "learned"
    """learned; or fixed:SIGMA, a constant in [0, 1]. fixed:1 is SMODICE with skills, which
    collapse."""
    projection: tuple[str, ...] = ()
    """Observation terms of both classifier and discriminator, as in the paper; none: each has its
    own."""
    gamma: float = 0.99
    """Discount factor per control step."""
    divergence: Literal["kl", "chi2"] = "kl"
    """Divergence from the data in the dual problems."""
    outer: int = 60
    """Outer steps; each updates values, ratios, discriminator and multipliers."""
    diversity: Literal["discriminator", "van_der_waals"] = "discriminator"
    """Reward for differing: log q of a discriminator, or a force between skills' mean features."""
    reach: float = 3.0
    """Distance of mean features below which skills repel each other; for `van_der_waals`."""
    diversity_weight: float = 25.0
    """Factor on the diversity term. Paper: 1. Skills separate above |Z| / (1 - sigma)."""
    data_pull: float = 0.0
    """Weight of the divergence from the data, times 1 - sigma. Paper: 1; exact Lagrangian: 0."""
    imitation_scale: float = 1.0
    """Factor on log eta_E."""
    trajectory_power: float = 0.25
    """Exponent of the power mean of the expert's ratios over a trajectory, which one policy made. 1
    is the mean; smaller ones favour trajectories that are the expert's throughout. Paper: 0, ratios
    by row."""
    truncation: float = 0.999
    """Quantile at which log ratios are clipped; 1: no clipping."""
    subset: int = 15_000
    """Rows per outer step on which phi and the discriminator's ratios are computed."""
    save_every: int = 10
    """Outer steps between saves, from which a killed run continues."""
    checkpoints: int = 8
    """Number of states that are kept for evaluation, evenly spaced over the run."""
    full_passes: int = 3
    """Number of checkpoints at which phi and distances are also computed over all data; each takes
    about 8 s per million rows."""
    torch_threads: int = 1
    """Threads on CPUs. Half of them compute rewards, policies with `in_loop` and a part of the
    discriminator. Use more than one on idle cores only. Weights are bit-identical only for the same
    number."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda if there is one."""
    classifier: ClassifierConfig = field(default_factory=ClassifierConfig)
    """Settings of the state classifier."""
    value: ValueConfig = field(default_factory=ValueConfig)
    """Settings of the dual values."""
    discriminator: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    """Settings of the skill discriminator."""
    multiplier: MultiplierConfig = field(default_factory=MultiplierConfig)
    """Settings of the multipliers."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    """Settings of the policy."""

    @property
    def fixed_sigma(self) -> float | None:
        """Constant sigma of all skills; None if it is learned."""
        if self.multipliers == "learned":
            return None
        return _number_after(
            "fixed", self.multipliers, "--multipliers learned or --multipliers fixed:0.5"
        )

    @property
    def alpha(self) -> float | None:
        """Weight of diversity in the unconstrained objective; None for other objectives."""
        if self.objective in ("doi", "smodice", "clusters"):
            return None
        return _number_after(
            "unconstrained",
            self.objective,
            "--objective doi, smodice, clusters or unconstrained:0.5",
        )

    def check(self) -> None:
        """Refuse settings that cannot be trained.

        Raises:
            SoloError: A setting is outside its range, with its name, value and range.
        """
        sigma = self.fixed_sigma
        rules = [
            *self._rules(sigma, self.alpha),
            *self._part_rules(),
            *self._averaged_rules(),
        ]
        # Finite numbers first: a comparison with NaN would name a misleading range.
        for rule in (*self._finite_rules(), *rules):
            if not rule.holds:
                value = self._setting(rule.name)
                raise SoloError(f"{rule.name} is {value}: expected {rule.expected}.")
        if sigma == 0 and self.data_pull == 0:
            raise SoloError(
                "data_pull 0 with sigma 0: nothing would keep skills near the data. Set either "
                "above 0."
            )

    def _rules(self, sigma: float | None, alpha: float | None) -> Iterator[SettingRule]:
        fewest_skills = 1 if self.objective == "smodice" else 2
        discriminator = self.discriminator
        squashed_or_free = self.policy.squashed or not self.policy.entropy
        yield SettingRule("eps", self.eps >= 0, "0 or more")
        yield SettingRule("seed", 0 <= self.seed < 2**63, "0 or more, and below 2^63")
        yield SettingRule("torch_threads", self.torch_threads >= 1, "1 or more")
        yield SettingRule("objective", alpha is None or math.isfinite(alpha), "a finite weight")
        yield SettingRule("classifier.terms", bool(self.classifier.terms), "one term or more")
        yield SettingRule("discriminator.terms", bool(discriminator.terms), "one term or more")
        yield SettingRule("skills", self.skills >= fewest_skills, "2 or more; smodice needs 1")
        yield SettingRule("gamma", 0 < self.gamma < 1, "between 0 and 1")
        yield SettingRule("outer", self.outer >= 1, "1 or more")
        yield SettingRule("truncation", 0.5 <= self.truncation <= 1, "between 0.5 and 1")
        fixed_in_range = sigma is None or 0 <= sigma <= 1
        yield SettingRule("multipliers", fixed_in_range, "a fixed sigma between 0 and 1")
        yield SettingRule("data_pull", 0 <= self.data_pull <= 1, "between 0 and 1")
        yield SettingRule("subset", self.subset >= 100, "100 rows or more")
        yield SettingRule("checkpoints", self.checkpoints >= 0, "0 or more")
        yield SettingRule("full_passes", self.full_passes >= 0, "0 or more")
        yield SettingRule("save_every", self.save_every >= 1, "1 or more")
        yield SettingRule(
            "discriminator.hold", 0 <= discriminator.hold < 1, "at least 0 and below 1"
        )
        held_out_in_range = 0 <= discriminator.held_out <= 0.5
        yield SettingRule("discriminator.held_out", held_out_in_range, "between 0 and 0.5")
        yield SettingRule("discriminator.noise", discriminator.noise >= 0, "0 or more")
        yield SettingRule("discriminator.background", discriminator.background >= 0, "0 or more")
        yield SettingRule("trajectory_power", 0 <= self.trajectory_power <= 1, "between 0 and 1")
        averaged_in_range = 0 <= self.policy.averaged_share <= 1
        yield SettingRule("policy.averaged_share", averaged_in_range, "between 0 and 1")
        yield SettingRule("policy.noise", self.policy.noise >= 0, "0 or more")
        power_in_range = 0 <= self.policy.variance_power <= 1
        yield SettingRule("policy.variance_power", power_in_range, "between 0 and 1")
        yield SettingRule("policy.input_clip", self.policy.input_clip >= 0, "0 or more")
        yield from self._ignored_rules()
        yield SettingRule("reach", self.reach > 0, "above 0")
        yield SettingRule("discriminator.disdain", discriminator.disdain >= 0, "0 or more")
        no_negative_penalty = self.classifier.gradient_penalty >= 0
        yield SettingRule("classifier.gradient_penalty", no_negative_penalty, "0 or more")
        yield SettingRule("value.weight_decay", self.value.weight_decay >= 0, "0 or more")
        yield SettingRule(
            "discriminator.disdain_steps", discriminator.disdain_steps >= 0, "0 or more"
        )
        yield SettingRule("multiplier.lr", self.multiplier.lr > 0, "above 0")
        yield SettingRule("multiplier.bound", self.multiplier.bound > 0, "above 0")
        yield SettingRule("policy.entropy", squashed_or_free, "off unless policy.squashed is on")

    def _ignored_rules(self) -> Iterator[SettingRule]:
        """Yield rules against settings that have no effect in combination with others."""
        discriminator = self.discriminator
        policy = self.policy
        resampled = policy.resampled and not policy.in_loop
        noise_used = resampled or not policy.noise
        expected = "0 without policy.resampled and with policy.in_loop, which do not use it"
        yield SettingRule("policy.noise", noise_used, expected)
        force = self.diversity == "van_der_waals"
        expected = "0 with --diversity van_der_waals, which has no discriminator"
        yield SettingRule("discriminator.noise", not (force and discriminator.noise), expected)
        yield SettingRule(
            "discriminator.background", not (force and discriminator.background), expected
        )

    def _part_rules(self) -> Iterator[SettingRule]:
        """Yield rules that several parts share: counts of 1 or more, positive learning rates."""
        for part in ("classifier", "value", "discriminator", "policy"):
            options = vars(getattr(self, part))
            for name in PART_COUNTS:
                if name in options:
                    yield SettingRule(f"{part}.{name}", options[name] >= 1, "1 or more")
            yield SettingRule(f"{part}.lr", options["lr"] > 0, "above 0")

    def _averaged_rules(self) -> Iterator[SettingRule]:
        """Yield rules of `value.averaged`: no minibatches, rewards by state and action alone.

        Its rewards are those of one row per state and action. Averages over past steps and over
        trajectories would differ between the rows of a pair.
        """
        if not self.value.averaged:
            return
        minibatches = self.divergence == "chi2" or self.policy.in_loop
        expected = "off with divergence chi2 or policy.in_loop"
        yield SettingRule("value.averaged", not minibatches, expected)
        yield SettingRule(
            "classifier.average", self.classifier.average == 1, "1 with value.averaged"
        )
        # Swings first: they need an average above 1.
        discriminator = self.discriminator
        no_swings = not discriminator.swing_terms
        yield SettingRule("discriminator.swing_terms", no_swings, "none with value.averaged")
        yield SettingRule(
            "discriminator.average", discriminator.average == 1, "1 with value.averaged"
        )
        yield SettingRule("trajectory_power", self.trajectory_power == 0, "0 with value.averaged")

    def _finite_rules(self) -> Iterator[SettingRule]:
        """Yield a rule for every float, by dotted name."""
        for name, value in vars(self).items():
            numbers = {name: value}
            if is_dataclass(value):
                numbers = {f"{name}.{key}": part for key, part in vars(value).items()}
            for dotted, number in numbers.items():
                if isinstance(number, float):
                    yield SettingRule(dotted, math.isfinite(number), "a finite number")

    def _setting(self, dotted: str) -> object:
        """Return a setting by its dotted name."""
        value: object = self
        for name in dotted.split("."):
            value = getattr(value, name)
        return value


def evenly_spaced_steps(outer: int, count: int) -> set[int]:
    """Return `count` of `outer` steps, evenly spaced; the last is one of them."""
    return {max(1, round(outer * (number + 1) / count)) for number in range(count)}


def full_steps(config: TrainConfig) -> set[int]:
    """Return the outer steps with a full pass over the data: some of those with a checkpoint."""
    kept = sorted(evenly_spaced_steps(config.outer, config.checkpoints))
    if not kept:
        return set()
    return {kept[number - 1] for number in evenly_spaced_steps(len(kept), config.full_passes)}


def _number_after(word: str, text: str, expected: str) -> float:
    """Return the number of a text such as WORD:0.5."""
    name, _, number = text.partition(":")
    try:
        if name == word:
            return float(number)
    except ValueError:
        pass
    raise SoloError(f"{text!r}: expected {expected}.")
