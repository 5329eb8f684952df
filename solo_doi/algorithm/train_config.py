"""Everything that can be set about a training run. Defaults are what works on our data; `presets` has the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Literal

from solo_doi.common.errors import SoloError

SIZES = (
    "hidden", "batch", "windows", "window", "initial_batch", "members", "average", "updates", "expert_updates",
)  # fmt: skip
"""Settings of the parts that count something there must be one of."""


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """State classifier c: tells the expert's states from the data's."""

    terms: tuple[str, ...] = ("linear_velocity.x", "linear_velocity.y", "angular_velocity.z")
    """Observation terms it sees (the projection): TERM for all of a term, TERM.x or TERM.0 for one number of it."""
    average: int = 25
    """Control steps over which its input is averaged, looking back; 1 in print, where sensor noise blurs it."""
    hidden: int = 256
    updates: int = 800
    batch: int = 512
    lr: float = 1e-3
    gradient_penalty: float = 0.0
    """Weight of the gradient penalty; 10 in print, which blunts a classifier of three numbers too much."""
    reward_scale: float = 3.0
    """Factor on the logit; 1 in print."""


@dataclass(frozen=True, kw_only=True)
class ValueConfig:
    """Dual values V_E and V_z."""

    hidden: int = 128
    lr: float = 3e-4
    weight_decay: float = 1e-4
    windows: int = 8
    """Trajectory pieces per minibatch."""
    window: int = 64
    """Transitions per piece; values of states inside are computed once although two transitions need them."""
    initial_batch: int = 128
    """Initial states per minibatch."""
    expert_updates: int = 3000
    """Updates of the expert's value before the skills are trained."""
    updates: int = 20
    """Updates of the skills' values per outer step."""


@dataclass(frozen=True, kw_only=True)
class DiscriminatorConfig:
    """Skill discriminator q: tells skills apart by state."""

    terms: tuple[str, ...] = ("linear_velocity", "angular_velocity", "gravity", "joint_position")
    """Observation terms it sees; the three of the classifier in print."""
    average: int = 25
    """Control steps over which its input is averaged, looking back; 1 in print, which splits gait phases."""
    hidden: int = 128
    members: int = 5
    updates: int = 20
    """Updates per outer step."""
    batch: int = 256
    lr: float = 1e-3
    log_floor: float = -4.6
    """Smallest log q that enters a reward: a state that no skill's discriminator doubts is not worth ever more."""
    hold: float = 0.25
    """Share of the outer steps, the last ones, in which it is kept as it is, so that the multipliers settle."""
    held_out: float = 0.1
    """Share of the trajectories it never sees in training; its accuracy is reported on them."""
    disdain: float = 0.1
    """Weight of the bonus for states on which the members disagree; 0: none."""
    disdain_steps: int = 0
    """Outer steps over which that weight fades to nothing; 0: it does not."""


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """How the bounded multipliers sigma(mu) are learned."""

    initial: float = 0.0
    """First mu."""
    lr: float = 0.05
    """Adam step per outer step."""
    bound: float = 6.0
    """mu stays within +- this."""


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Skill policy, cloned from weighted data."""

    hidden: int = 256
    updates: int = 6000
    """Updates after the loop, of the expert and all skills together; with half of them skills look more alike. No
    effect with `in_loop`, where skills have one update with each of the values' (`value.updates` an outer step)."""
    expert_updates: int = 6000
    """Updates of the expert's policy, after the loop, if skills are trained `in_loop`; no effect otherwise."""
    batch: int = 256
    """Rows per skill and minibatch; in the loop, skills learn from the minibatch of the values instead."""
    lr: float = 1e-3
    """First learning rate; decays linearly to a hundredth, but for skills that are trained `in_loop`."""
    resampled: bool = True
    """Draw rows by weight, instead of drawing evenly and weighting the loss, as in print and always in the loop."""
    trajectory_weights: bool = True
    """Give every row its trajectory's mean weight: one policy made all of it. No effect on skills in the loop."""
    squashed: bool = False
    """tanh of a Gaussian, as in print, instead of a Gaussian whose mean is clipped to the data's range."""
    entropy: bool = False
    """Whether the entropy is kept above minus the number of actions, as in print; needs `squashed`."""
    in_loop: bool = False
    """Train the skills' policy in every outer step, as in print, instead of once at the end: nothing depends on it.
    The expert's is cloned at the end also then, with the fields above."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """One run of DOI."""

    eps: float = 2.0
    """Largest divergence of a skill from the expert [nats]; below log(skills) skills may end above it."""
    skills: int = 5
    seed: int = 1
    objective: str = "doi"
    """doi; smodice: the expert alone; unconstrained:ALPHA: log(d_E / d_O) + ALPHA x diversity."""
    multipliers: str = "learned"
    """learned; or fixed:SIGMA for a constant in [0, 1]. fixed:1 is SMODICE with skills, which collapse."""
    projection: tuple[str, ...] = ()
    """Observation terms for both classifier and discriminator, as in print; none: each has its own."""
    gamma: float = 0.99
    divergence: Literal["kl", "chi2"] = "kl"
    """Divergence from the data in the dual problems."""
    outer: int = 120
    """Outer steps: values, ratios, discriminator, multipliers."""
    diversity: Literal["discriminator", "van_der_waals"] = "discriminator"
    """What makes skills differ: log q, or a force between the skills' mean features."""
    reach: float = 3.0
    """Distance of mean features up to which skills repel each other, if `van_der_waals`."""
    diversity_weight: float = 25.0
    """Factor on the diversity term, 1 in print; skills that may differ need more than |Z| / (1 - sigma)."""
    data_pull: float = 1.0
    """How much skills are drawn to the data as imitation fades: 1 as printed, 0 the exact Lagrangian."""
    imitation_scale: float = 1.0
    """Factor on log eta_E."""
    truncation: float = 0.999
    """Quantile at which log ratios are capped; 1: not at all."""
    subset: int = 15_000
    """Rows on which phi and the ratios of the discriminator are computed in an outer step."""
    save_every: int = 10
    """Outer steps between saves, from which a killed run continues."""
    checkpoints: int = 8
    """How many states along the run are kept for later evaluation, evenly spaced."""
    full_passes: int = 3
    """At how many of them phi and distances are also computed over all of the data, some 8 s per million rows each."""
    torch_threads: int = 1
    """Threads on CPUs; half of them compute rewards, policies that are trained `in_loop` and a share of the
    discriminator. Worth it on idle cores only: beside other programs two may be slower than one. Weights are the same
    bit for bit only with the same number."""
    device: str = "auto"
    """cpu, cuda, or auto: cuda if there is one."""
    classifier: ClassifierConfig = field(default_factory=ClassifierConfig)
    value: ValueConfig = field(default_factory=ValueConfig)
    discriminator: DiscriminatorConfig = field(default_factory=DiscriminatorConfig)
    multiplier: MultiplierConfig = field(default_factory=MultiplierConfig)
    policy: PolicyConfig = field(default_factory=PolicyConfig)

    @property
    def fixed_sigma(self) -> float | None:
        """Constant sigma of all skills, or nothing if it is learned."""
        if self.multipliers == "learned":
            return None
        return _number_after(
            "fixed", self.multipliers, "--multipliers learned or --multipliers fixed:0.5"
        )

    @property
    def alpha(self) -> float | None:
        """Weight of diversity in the unconstrained objective, or nothing if it is another."""
        if self.objective in ("doi", "smodice"):
            return None
        return _number_after(
            "unconstrained", self.objective, "--objective doi, smodice or unconstrained:0.5"
        )

    def _numbers(self) -> Iterator[tuple[str, float]]:
        """All numbers that are set, by dotted names."""
        for name, value in vars(self).items():
            parts = (
                {f"{name}.{key}": part for key, part in vars(value).items()}
                if is_dataclass(value)
                else {name: value}
            )
            yield from ((key, part) for key, part in parts.items() if isinstance(part, float))

    def check(self) -> None:
        """Refuse what cannot be trained, before any data is read."""
        sigma, alpha = self.fixed_sigma, self.alpha
        rules = {
            "eps": (0 <= self.eps < math.inf, "0 or more"),
            "seed": (0 <= self.seed < 2**63, "0 or more, and below 2^63"),
            "torch_threads": (self.torch_threads >= 1, "1 or more"),
            "objective": (alpha is None or math.isfinite(alpha), "a finite weight"),
            "classifier.terms": (bool(self.classifier.terms), "one term or more"),
            "discriminator.terms": (bool(self.discriminator.terms), "one term or more"),
            "skills": (
                self.skills >= (1 if self.objective == "smodice" else 2),
                "2 or more; smodice needs 1",
            ),
            "gamma": (0 < self.gamma < 1, "between 0 and 1"),
            "outer": (self.outer >= 1, "1 or more"),
            "truncation": (0.5 <= self.truncation <= 1, "between 0.5 and 1"),
            "multipliers": (sigma is None or 0 <= sigma <= 1, "a fixed sigma between 0 and 1"),
            "data_pull": (0 <= self.data_pull <= 1, "between 0 and 1"),
            "subset": (self.subset >= 100, "100 rows or more"),
            "checkpoints": (self.checkpoints >= 0, "0 or more"),
            "full_passes": (self.full_passes >= 0, "0 or more"),
            "save_every": (self.save_every >= 1, "1 or more"),
            "discriminator.hold": (0 <= self.discriminator.hold < 1, "at least 0 and below 1"),
            "discriminator.held_out": (
                0 <= self.discriminator.held_out <= 0.5,
                "between 0 and 0.5",
            ),
            "reach": (self.reach > 0, "above 0"),
            "discriminator.disdain": (self.discriminator.disdain >= 0, "0 or more"),
            "classifier.gradient_penalty": (self.classifier.gradient_penalty >= 0, "0 or more"),
            "value.weight_decay": (self.value.weight_decay >= 0, "0 or more"),
            "discriminator.disdain_steps": (self.discriminator.disdain_steps >= 0, "0 or more"),
            "multiplier.lr": (self.multiplier.lr > 0, "above 0"),
            "multiplier.bound": (self.multiplier.bound > 0, "above 0"),
            "policy.entropy": (
                self.policy.squashed or not self.policy.entropy,
                "off unless policy.squashed is on",
            ),
        }
        for part in ("classifier", "value", "discriminator", "policy"):
            options = vars(getattr(self, part))
            rules |= {
                f"{part}.{name}": (options[name] >= 1, "1 or more")
                for name in SIZES
                if name in options
            }
            rules[f"{part}.lr"] = (options["lr"] > 0, "above 0")
        finite = {
            name: (math.isfinite(value), "a finite number") for name, value in self._numbers()
        }
        rules = finite | {
            name: rule for name, rule in rules.items() if finite.get(name, (True,))[0]
        }
        for name, (holds, expected) in rules.items():
            if not holds:
                parts = name.split(".")
                found = (
                    getattr(getattr(self, parts[0]), parts[1])
                    if len(parts) > 1
                    else getattr(self, name)
                )
                raise SoloError(f"{name} is {found}: expected {expected}.")
        if sigma == 0 and self.data_pull == 0:
            raise SoloError(
                "data_pull 0 with sigma 0: nothing would keep skills near the data. Set either above 0."
            )


def _number_after(word: str, text: str, expected: str) -> float:
    name, _, number = text.partition(":")
    try:
        if name == word:
            return float(number)
    except ValueError:
        pass
    raise SoloError(f"{text!r}: expected {expected}.")
