"""Notices training that leads nowhere, and says what to change."""

from __future__ import annotations

import math
from typing import Any

from solo_doi.errors import SoloError

from .config import TrainConfig

PATIENCE = 20
"""Outer steps in a row that something must last before it is told."""
SMALLEST_SHARE = 1e-3
"""Weights are collapsed if their effective number of samples is a smaller share of the data."""


class TrainingError(SoloError):
    """Training that cannot lead anywhere, with what to change."""


def finite(metrics: dict[str, float], outer: int) -> dict[str, float]:
    """Return the metrics if all are numbers; training on NaN would only spread it."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"{name} became {value} in outer step {outer}. Lower value.lr or diversity_weight, or look for "
                "extreme numbers in the data with `solo-collect inspect`."
            )
    return metrics


class Health:
    """Follows the metrics of a run; every complaint is made once."""

    def __init__(self, config: TrainConfig) -> None:
        """Complain about what the configuration alone tells."""
        self._skills = range(config.skills)
        self._learned = config.fixed_sigma is None and config.objective == "doi"
        self._lasting: dict[str, int] = {}
        self.warnings: list[str] = []
        limit = math.log(config.skills)
        if self._learned and 0 < config.eps < limit:
            self.warnings.append(
                f"eps {config.eps:g} is below log({config.skills}) = {limit:.2f}, what skills that share nothing cost: "
                "they may join and part in turns. Fewer skills, or a larger eps, settle."
            )

    def state(self) -> dict[str, Any]:
        """Return what a continued run must know."""
        return {"lasting": self._lasting, "warnings": self.warnings}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._lasting, self.warnings = dict(state["lasting"]), list(state["warnings"])

    def observe(self, metrics: dict[str, float]) -> list[str]:
        """Return new complaints about an outer step."""
        exponent = max(metrics[f"exponent/{skill}"] for skill in self._skills)
        share = min(metrics[f"effective_share/{skill}"] for skill in self._skills)
        accuracy = metrics.get("discriminator_accuracy")
        complaints = {
            "exponent": (
                self._learned and exponent < 1,
                f"the exponent that makes skills differ is {exponent:.2f}, below 1: they can only become alike. "
                "Raise diversity_weight or eps if they should differ.",
            ),
            "weights": (
                share < SMALLEST_SHARE,
                f"a skill's weights rest on {share:.2%} of the data: ratios and policies mean little. Lower "
                "truncation or diversity_weight, or use more data.",
            ),
            "discriminator": (
                exponent >= 1 and accuracy is not None and accuracy < 1.5 / len(self._skills),
                "the discriminator names skills no better than chance although they may differ. Raise "
                "diversity_weight, or give it features that tell behaviours apart (discriminator.terms, .average).",
            ),
        }
        told = []
        for name, (present, text) in complaints.items():
            self._lasting[name] = self._lasting.get(name, 0) + 1 if present else 0
            if self._lasting[name] == PATIENCE and not any(text[:25] in told for told in self.warnings):
                told.append(text)
        self.warnings += told
        return told
