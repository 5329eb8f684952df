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

COUNTS = (
    "hidden",
    "batch",
    "windows",
    "window",
    "initial_batch",
    "members",
    "average",
    "updates",
    "expert_updates",
)
"""Settings of the parts that must be 1 or more."""


class Rule(NamedTuple):
    """Condition on one setting."""

    name: str
    holds: bool
    expected: str


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of one run of DOI."""

    eps: float = 2.0
    """Largest divergence of a skill from the expert [nats]. Below log(skills), skills may end above
    it."""
    skills: int = 5
    """Number of skills."""
    seed: int = 1
    """Seed of all random numbers."""
    objective: str = "doi"
    """doi; smodice: the expert alone; unconstrained:ALPHA: log(d_E / d_O) + ALPHA x diversity."""
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
    outer: int = 120
    """Outer steps; each updates values, ratios, discriminator and multipliers."""
    diversity: Literal["discriminator", "van_der_waals"] = "discriminator"
    """Reward for differing: log q of a discriminator, or a force between skills' mean features."""
    reach: float = 3.0
    """Distance of mean features below which skills repel each other; for `van_der_waals`."""
    diversity_weight: float = 25.0
    """Factor on the diversity term. Paper: 1. Skills separate above |Z| / (1 - sigma)."""
    data_pull: float = 1.0
    """Weight of the divergence from the data as imitation fades. Paper: 1; exact Lagrangian: 0."""
    imitation_scale: float = 1.0
    """Factor on log eta_E."""
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
        if self.objective in ("doi", "smodice"):
            return None
        return _number_after(
            "unconstrained", self.objective, "--objective doi, smodice or unconstrained:0.5"
        )

    def check(self) -> None:
        """Refuse settings that cannot be trained.

        Raises:
            SoloError: A setting is outside its range, with its name, value and range.
        """
        sigma = self.fixed_sigma
        rules = [*self._rules(sigma, self.alpha), *self._part_rules()]
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

    def _rules(self, sigma: float | None, alpha: float | None) -> Iterator[Rule]:
        fewest_skills = 1 if self.objective == "smodice" else 2
        discriminator = self.discriminator
        squashed_or_free = self.policy.squashed or not self.policy.entropy
        yield Rule("eps", self.eps >= 0, "0 or more")
        yield Rule("seed", 0 <= self.seed < 2**63, "0 or more, and below 2^63")
        yield Rule("torch_threads", self.torch_threads >= 1, "1 or more")
        yield Rule("objective", alpha is None or math.isfinite(alpha), "a finite weight")
        yield Rule("classifier.terms", bool(self.classifier.terms), "one term or more")
        yield Rule("discriminator.terms", bool(discriminator.terms), "one term or more")
        yield Rule("skills", self.skills >= fewest_skills, "2 or more; smodice needs 1")
        yield Rule("gamma", 0 < self.gamma < 1, "between 0 and 1")
        yield Rule("outer", self.outer >= 1, "1 or more")
        yield Rule("truncation", 0.5 <= self.truncation <= 1, "between 0.5 and 1")
        fixed_in_range = sigma is None or 0 <= sigma <= 1
        yield Rule("multipliers", fixed_in_range, "a fixed sigma between 0 and 1")
        yield Rule("data_pull", 0 <= self.data_pull <= 1, "between 0 and 1")
        yield Rule("subset", self.subset >= 100, "100 rows or more")
        yield Rule("checkpoints", self.checkpoints >= 0, "0 or more")
        yield Rule("full_passes", self.full_passes >= 0, "0 or more")
        yield Rule("save_every", self.save_every >= 1, "1 or more")
        yield Rule("discriminator.hold", 0 <= discriminator.hold < 1, "at least 0 and below 1")
        held_out_in_range = 0 <= discriminator.held_out <= 0.5
        yield Rule("discriminator.held_out", held_out_in_range, "between 0 and 0.5")
        yield Rule("reach", self.reach > 0, "above 0")
        yield Rule("discriminator.disdain", discriminator.disdain >= 0, "0 or more")
        no_negative_penalty = self.classifier.gradient_penalty >= 0
        yield Rule("classifier.gradient_penalty", no_negative_penalty, "0 or more")
        yield Rule("value.weight_decay", self.value.weight_decay >= 0, "0 or more")
        yield Rule("discriminator.disdain_steps", discriminator.disdain_steps >= 0, "0 or more")
        yield Rule("multiplier.lr", self.multiplier.lr > 0, "above 0")
        yield Rule("multiplier.bound", self.multiplier.bound > 0, "above 0")
        yield Rule("policy.entropy", squashed_or_free, "off unless policy.squashed is on")

    def _part_rules(self) -> Iterator[Rule]:
        """Yield rules that several parts share: counts of 1 or more, positive learning rates."""
        for part in ("classifier", "value", "discriminator", "policy"):
            options = vars(getattr(self, part))
            for name in COUNTS:
                if name in options:
                    yield Rule(f"{part}.{name}", options[name] >= 1, "1 or more")
            yield Rule(f"{part}.lr", options["lr"] > 0, "above 0")

    def _finite_rules(self) -> Iterator[Rule]:
        """Yield a rule for every float, by dotted name."""
        for name, value in vars(self).items():
            numbers = {name: value}
            if is_dataclass(value):
                numbers = {f"{name}.{key}": part for key, part in vars(value).items()}
            for dotted, number in numbers.items():
                if isinstance(number, float):
                    yield Rule(dotted, math.isfinite(number), "a finite number")

    def _setting(self, dotted: str) -> object:
        """Return a setting by its dotted name."""
        value: object = self
        for name in dotted.split("."):
            value = getattr(value, name)
        return value


def _number_after(word: str, text: str, expected: str) -> float:
    """Return the number of a text such as WORD:0.5."""
    name, _, number = text.partition(":")
    try:
        if name == word:
            return float(number)
    except ValueError:
        pass
    raise SoloError(f"{text!r}: expected {expected}.")
