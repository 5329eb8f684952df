"""Notices training that leads nowhere, and says what to change."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

from solo_doi.common.errors import SoloError

from .train_config import TrainConfig

Advance = Callable[[dict[str, float]], None]
"""Who is told the losses of every update."""
PATIENCE = 20
"""Outer steps in a row that something must last before it is told; all of them, if there are fewer."""
SMALLEST_SHARE = 1e-3
"""Weights are collapsed if no larger share of the data carries them, beside what truncation makes equal."""


class WarningId(Enum):
    """Kinds of warnings of a run. Each is given once, with the numbers of its first occurrence."""

    EPS_BELOW_LIMIT = "eps"
    EXPERT_WEIGHTS = "expert_weights"
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

LOWER = {
    "loss/policy": "policy.lr",
    "loss/classifier": "classifier.lr",
    "loss/expert_value": "value.lr or classifier.reward_scale",
    "loss/discriminator": "discriminator.lr",
}
"""What to lower if a loss is no number; others are the skills' values' doing."""


class TrainingError(SoloError):
    """Training that cannot lead anywhere, with what to change."""


def finite(metrics: dict[str, float], when: str) -> dict[str, float]:
    """Return the metrics if all are numbers; training on NaN would only spread it."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            lower = LOWER.get(name, "value.lr or diversity_weight")
            raise TrainingError(
                f"{name} became {value} in {when}. Lower {lower}, or look for extreme numbers in the data with "
                "`solo-collect inspect`."
            )
    return metrics


def collapsed_share(rows: int, truncation: float) -> float:
    """Effective share of `rows` below which weights are collapsed.

    However few rows have weight, those above the quantile of truncation are equal: there is no smaller share.
    """
    return 1 - truncation + max(SMALLEST_SHARE, 2 / rows)


class Health:
    """Follows the metrics of a run; every complaint is made once."""

    def __init__(self, config: TrainConfig) -> None:
        """Complain about what the configuration alone tells."""
        self._config, self._skills = config, range(config.skills)
        self._patience = min(PATIENCE, config.outer)
        self._weight = (
            "diversity_weight"
            if config.alpha is None
            else "ALPHA of --objective unconstrained:ALPHA"
        )
        self._lasting: dict[str, int] = {}
        self._warnings: dict[WarningId, str] = {}
        limit = math.log(config.skills)
        if config.fixed_sigma is None and config.objective == "doi" and 0 < config.eps < limit:
            self._warn(
                WarningId.EPS_BELOW_LIMIT,
                f"eps {config.eps:g} is below log({config.skills}) = {limit:.2f}, what skills that share nothing cost: "
                "they may join and part in turns. Fewer skills, or a larger eps, settle.",
            )

    @property
    def warnings(self) -> list[str]:
        """Texts of all warnings so far, oldest first."""
        return list(self._warnings.values())

    def state(self) -> dict[str, Any]:
        """Return what a continued run must know."""
        ids = [kind.value for kind in self._warnings]
        return {"lasting": self._lasting, "warnings": self.warnings, "warning_ids": ids}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._lasting = dict(state["lasting"])
        texts = state["warnings"]
        if "warning_ids" in state:
            ids = [WarningId(value) for value in state["warning_ids"]]
        else:
            ids = [_id_of_text(text) for text in texts]
        self._warnings = dict(zip(ids, texts, strict=True))

    def observe_expert(self, effective_samples: float, rows: int) -> None:
        """Complain if the recovered expert rests on next to nothing: all that is learned later rests on it."""
        share = effective_samples / rows
        if share < collapsed_share(rows, self._config.truncation):
            self._warn(
                WarningId.EXPERT_WEIGHTS,
                f"the expert's weights rest on {share:.2%} of the data: neither it nor skills near it mean much. Lower "
                "classifier.reward_scale or truncation, or use more data like the expert's.",
            )

    def observe_full(self, shares: list[float], rows: int) -> list[str]:
        """Return a new complaint about the effective share of every skill in all of the data.

        A subset seldom has the few rows that carry all the weight, where there are such.
        """
        share = min(shares)
        if share >= collapsed_share(rows, self._config.truncation):
            return []
        text = self._collapsed(share)
        if not self._warn(WarningId.SKILL_WEIGHTS, text):
            return []
        return [text]

    def observe(self, metrics: dict[str, float]) -> list[str]:
        """Return new complaints about an outer step."""
        exponents = [metrics[f"exponent/{skill}"] for skill in self._skills]
        alike = [f"{skill} ({value:.2f})" for skill, value in enumerate(exponents) if value < 1]
        share = min(metrics[f"effective_share/{skill}"] for skill in self._skills)
        accuracy = metrics.get("discriminator_accuracy")
        complaints = {
            WarningId.EXPONENT: (
                bool(alike)
                and self._config.diversity == "discriminator",  # a force has no exponent
                "the exponent that makes skills differ is below 1 for "
                f"{'skill' if len(alike) == 1 else 'skills'} {', '.join(alike)}: what sets them apart fades. "
                f"Raise {self._weight}{self._or_else()} if they should differ.",
            ),
            WarningId.SKILL_WEIGHTS: (
                share < collapsed_share(self._config.subset, self._config.truncation),
                self._collapsed(share),
            ),
            WarningId.DISCRIMINATOR: (
                max(exponents) >= 1
                and accuracy is not None
                and accuracy < 0.8 / len(self._skills) + 0.2,
                "the discriminator names skills no better than chance although they may differ. Raise "
                f"{self._weight}, or give it features that tell behaviours apart (discriminator.terms, .average).",
            ),
        }
        new = []
        for kind, (present, text) in complaints.items():
            steps = 0
            if present:
                steps = self._lasting.get(kind.value, 0) + 1
            self._lasting[kind.value] = steps
            if steps == self._patience and self._warn(kind, text):
                new.append(text)
        return new

    def _collapsed(self, share: float) -> str:
        return (
            f"a skill's weights rest on {share:.2%} of the data: ratios and policies mean little. Lower "
            f"truncation or {self._weight}, or use more data."
        )

    def _warn(self, kind: WarningId, text: str) -> bool:
        """Keep a warning; return False if one of its kind was given before."""
        if kind in self._warnings:
            return False
        self._warnings[kind] = text
        return True

    def _or_else(self) -> str:
        """What else than the weight of diversity raises exponents."""
        if self._config.alpha is not None:
            return ""
        return (
            " or eps"
            if self._config.fixed_sigma is None
            else ", or lower SIGMA of --multipliers fixed:SIGMA,"
        )


def _id_of_text(text: str) -> WarningId:
    """Return the id of a warning that was saved by version 0.1."""
    for start, kind in TEXT_STARTS.items():
        if text.startswith(start):
            return kind
    raise TrainingError(f"Unknown warning in the checkpoint: {text!r}. Start the run again.")
