"""Detection of training that fails, with advice on the settings to change."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from solo_doi.common.errors import SoloError

from .train_config import TrainConfig

GRACE_STEPS = 20
"""Consecutive outer steps that a problem must last before it is reported; all steps of a shorter
run."""
SMALLEST_SHARE = 1e-3
"""Effective share of the data below which weights are collapsed, in addition to the share of rows
that truncation makes equal."""
LARGEST_REJECTED = 0.1
"""Largest part of the expert's weight on trajectories that are less like the expert than the data
are on average. Measured on HalfCheetah: 0.15 where cloning failed, 0 where it succeeded."""
CHANCE_MARGIN = 0.2
"""Smallest accuracy above chance level, as a share of the range from chance level to 1."""


class WarningId(Enum):
    """Kinds of warnings. Each is given once, with the numbers of its first occurrence."""

    EPS_BELOW_LIMIT = "eps"
    EXPERT_WEIGHTS = "expert_weights"
    REJECTED_WEIGHT = "rejected_weight"
    SKILL_WEIGHTS = "weights"
    EXPONENT = "exponent"
    DISCRIMINATOR = "discriminator"


TEXT_STARTS = {
    "eps ": WarningId.EPS_BELOW_LIMIT,
    "the expert's weights": WarningId.EXPERT_WEIGHTS,
    "a skill's weights": WarningId.SKILL_WEIGHTS,
    "the exponent that": WarningId.EXPONENT,
    "the discriminator names": WarningId.DISCRIMINATOR,
}
"""First words of warnings in checkpoints of version 0.1, which have no ids."""

SETTING_TO_LOWER = {
    "loss/policy": "policy.lr",
    "loss/classifier": "classifier.lr",
    "loss/expert_value": "value.lr or classifier.reward_scale",
    "loss/discriminator": "discriminator.lr",
}
"""Setting to lower if a loss is not finite."""
OTHER_TO_LOWER = "value.lr or diversity_weight"
"""The same for all other metrics, which depend on the skills' values."""


class TrainingError(SoloError):
    """Training that cannot succeed, with the setting to change."""


def finite(metrics: dict[str, float], when: str) -> dict[str, float]:
    """Return the metrics if all are finite.

    Raises:
        TrainingError: A metric is NaN or infinite, which would spread to the weights.
    """
    for name, value in metrics.items():
        if not math.isfinite(value):
            lower = SETTING_TO_LOWER.get(name, OTHER_TO_LOWER)
            raise TrainingError(
                f"{name} became {value} in {when}. Lower {lower}, or look for extreme numbers in "
                "the data with `solo-collect inspect`."
            )
    return metrics


def collapsed_share(rows: int, truncation: float) -> float:
    """Return the effective share of `rows` below which weights are collapsed.

    Truncation makes all weights above a quantile equal, so the share cannot be smaller than theirs.
    """
    return 1 - truncation + max(SMALLEST_SHARE, 2 / rows)


class Diagnostics:
    """Observer of the metrics of a run. Each kind of warning is given once."""

    def __init__(self, config: TrainConfig) -> None:
        """Report problems that the configuration alone shows."""
        self._config = config
        self._grace_steps = min(GRACE_STEPS, config.outer)
        self._steps: dict[str, int] = {}
        """Consecutive outer steps with a problem, by the value of its id."""
        self._warnings: dict[WarningId, str] = {}
        """Texts of all warnings so far."""
        limit = math.log(config.skills)
        learned = config.fixed_sigma is None and config.multiplier.method == "gradient"
        if learned and config.objective == "doi" and 0 < config.eps < limit:
            self._report(
                WarningId.EPS_BELOW_LIMIT,
                f"eps {config.eps:g} is below log({config.skills}) = {limit:.2f}, the divergence "
                "of skills that share nothing: they may merge and separate in turns. Use "
                "--multiplier.method solve, fewer skills, or a larger eps.",
            )

    @property
    def warnings(self) -> list[str]:
        """Texts of all warnings so far, oldest first."""
        return list(self._warnings.values())

    def state(self) -> dict[str, Any]:
        """Return the state that a continued run needs."""
        ids = [kind.value for kind in self._warnings]
        return {"lasting": self._steps, "warnings": self.warnings, "warning_ids": ids}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._steps = dict(state["lasting"])
        texts = state["warnings"]
        if "warning_ids" in state:
            ids = list(map(WarningId, state["warning_ids"]))
        else:
            ids = list(map(_id_of_text, texts))
        self._warnings = dict(zip(ids, texts, strict=True))

    def observe_expert(self, effective_samples: float, rows: int) -> None:
        """Report collapsed weights of the recovered expert, on which all skills depend."""
        share = effective_samples / rows
        if share < collapsed_share(rows, self._config.truncation):
            self._report(
                WarningId.EXPERT_WEIGHTS,
                f"the expert's weights rest on {share:.2%} of the data: the expert and skills near "
                "it are unreliable. Lower classifier.reward_scale or truncation, or use more data "
                "like the expert's.",
            )

    def observe_rejected(self, share: float) -> None:
        """Report a large part of the expert's weight on trajectories that are unlike the expert.

        Cloning gives every row the mean weight of its trajectory. Where the expert's rows are few,
        such trajectories outnumber them.
        """
        if self._config.policy.trajectory_weights and share > LARGEST_REJECTED:
            self._report(
                WarningId.REJECTED_WEIGHT,
                f"{share:.0%} of the expert's weight lie on trajectories that the classifier finds "
                "less like the expert than the data on average: policies may imitate them where "
                "the expert's rows are few. Raise classifier.reward_scale, or lower "
                "classifier.gradient_penalty.",
            )

    def observe_full(self, shares: list[float], rows: int) -> list[str]:
        """Return a new warning about the effective share of every skill in all of the data.

        The subset of an outer step may miss the few rows that carry all the weight.
        """
        share = min(shares)
        if share >= collapsed_share(rows, self._config.truncation):
            return []
        return self._report(WarningId.SKILL_WEIGHTS, self._collapsed(share))

    def observe(self, metrics: dict[str, float]) -> list[str]:
        """Return new warnings about an outer step."""
        problems = {
            WarningId.EXPONENT: self._fading_differences(metrics),
            WarningId.SKILL_WEIGHTS: self._collapsed_weights(metrics),
            WarningId.DISCRIMINATOR: self._weak_discriminator(metrics),
        }
        new = []
        for kind, text in problems.items():
            if text is None:
                self._steps[kind.value] = 0
                continue
            self._steps[kind.value] = self._steps.get(kind.value, 0) + 1
            if self._steps[kind.value] == self._grace_steps:
                new += self._report(kind, text)
        return new

    def _report(self, kind: WarningId, text: str) -> list[str]:
        """Keep a warning and return it; empty if one of its kind was given before."""
        if kind in self._warnings:
            return []
        self._warnings[kind] = text
        return [text]

    def _fading_differences(self, metrics: dict[str, float]) -> str | None:
        if self._config.diversity != "discriminator":
            return None  # a force has no exponent
        low = []
        for skill, value in enumerate(self._exponents(metrics)):
            if value < 1:
                low.append(f"{skill} ({value:.2f})")
        if not low:
            return None
        skills = "skill" if len(low) == 1 else "skills"
        return (
            f"the exponent that makes skills differ is below 1 for {skills} {', '.join(low)}: "
            f"their differences fade. Raise {self._diversity_setting()}{self._alternative()} if "
            "they should differ."
        )

    def _collapsed_weights(self, metrics: dict[str, float]) -> str | None:
        config = self._config
        share = min(metrics[f"effective_share/{skill}"] for skill in range(config.skills))
        if share >= collapsed_share(config.subset, config.truncation):
            return None
        return self._collapsed(share)

    def _weak_discriminator(self, metrics: dict[str, float]) -> str | None:
        accuracy = metrics.get("discriminator_accuracy")
        if accuracy is None or max(self._exponents(metrics)) < 1:
            return None
        if accuracy >= (1 - CHANCE_MARGIN) / self._config.skills + CHANCE_MARGIN:
            return None
        return (
            "the discriminator names skills no better than chance although they may differ. Raise "
            f"{self._diversity_setting()}, or give it features that separate behaviours "
            "(discriminator.terms, .average)."
        )

    def _exponents(self, metrics: dict[str, float]) -> list[float]:
        return [metrics[f"exponent/{skill}"] for skill in range(self._config.skills)]

    def _collapsed(self, share: float) -> str:
        return (
            f"a skill's weights rest on {share:.2%} of the data: ratios and policies are "
            f"unreliable. Lower truncation or {self._diversity_setting()}, or use more data."
        )

    def _diversity_setting(self) -> str:
        """Name the setting that is the weight of diversity."""
        if self._config.alpha is None:
            return "diversity_weight"
        return "ALPHA of --objective unconstrained:ALPHA"

    def _alternative(self) -> str:
        """Name other settings that raise exponents, besides the weight of diversity."""
        if self._config.alpha is not None:
            return ""
        if self._config.fixed_sigma is None:
            return " or eps"
        return ", or lower SIGMA of --multipliers fixed:SIGMA,"


def _id_of_text(text: str) -> WarningId:
    """Return the id of a warning that was saved by version 0.1."""
    for start, kind in TEXT_STARTS.items():
        if text.startswith(start):
            return kind
    raise TrainingError(f"Unknown warning in the checkpoint: {text!r}. Start the run again.")
