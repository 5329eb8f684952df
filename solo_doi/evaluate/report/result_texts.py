"""Results as short texts, for the report and the terminal."""

from __future__ import annotations

from typing import Any

from solo_doi.evaluate.metrics.intervals import LEAST_TRIALS, wilson
from solo_doi.evaluate.metrics.two_gaits import LEAST_ROLLOUTS

from .html_report import format_value

DIVERGENCES = {
    ("classifier", "expert"): "classifier's terms",
    ("classifier", "demonstrations"): "classifier's terms, from demonstrations",
    ("discriminator", "expert"): "discriminator's terms",
}
"""Titles of divergences, by terms and reference."""


def falls_text(falls: int, rollouts: int) -> str:
    """Return a number of falls with the 95 % interval of their share; few rollouts are marked."""
    low, high = wilson(falls, rollouts)
    mark = ", few rollouts" if rollouts < LEAST_TRIALS else ""
    return f"{falls} of {rollouts} ({100 * low:.1f} to {100 * high:.1f} %{mark})"


def pooled_falls_text(metrics: dict[str, Any]) -> str:
    """Return the falls of all skills together."""
    pooled = metrics["falls_pooled"]
    return falls_text(pooled["falls"], pooled["rollouts"])


def group_text(metrics: dict[str, Any], name: str) -> str:
    """Return a group of different skills and the number of their pairs."""
    group = metrics[name]
    listed = ", ".join(map(str, group)) or "none"
    found = metrics[f"{name}_pairs"]
    return f"{len(group)} ({listed}), {found} of {metrics['pairs']} pairs"


def two_gaits_text(metrics: dict[str, Any]) -> str:
    """Return sentences about skills with two gaits, and about skills that were not judged."""
    sentences = []
    if metrics["two_gaits"] is not None:
        found = _gaits_of(metrics, "two_gaits_in")
        plain = _gaits_of(metrics, "two_gaits_plain_in")
        sentences.append(f"Two gaits in one skill: {found}.")
        if plain != found:
            sentences.append(f"By the plain rule, which also flags one wide gait: {plain}.")
    not_judged = ", ".join(map(str, metrics["two_gaits_not_judged"]))
    if not_judged:
        sentences.append(
            f"Two gaits not judged, fewer than {LEAST_ROLLOUTS} upright rollouts: {not_judged}."
        )
    return " ".join(sentences)


def _gaits_of(metrics: dict[str, Any], name: str) -> str:
    """Return the flagged skills with their measures."""
    flagged = [
        f"skill {skill['skill']} (in {', '.join(skill[name])})"
        for skill in metrics["skills"]
        if skill[name]
    ]
    return ", ".join(flagged) or "none"


def divergence_rows(metrics: dict[str, Any]) -> list[dict[str, object]]:
    """Return the divergences of every policy with standard errors [nats], one row per skill.

    Empty if they were not measured.
    """
    measured = metrics.get("policy_divergence", {})
    columns = {}
    for (terms, reference), title in DIVERGENCES.items():
        found = measured.get(terms, {})
        if reference in found:
            pairs = zip(found[reference], found[f"{reference}_error"], strict=True)
            columns[title] = [_with_error(value, error) for value, error in pairs]
    if not columns:
        return []
    phi = metrics.get("phi", [])
    rows = []
    for skill in range(len(metrics["skills"])):
        row: dict[str, object] = {"": f"skill {skill}"}
        if len(phi) == len(metrics["skills"]):
            row["phi of the ratios"] = phi[skill]
        row |= {title: values[skill] for title, values in columns.items()}
        rows.append(row)
    return rows


def _with_error(value: float | None, error: float | None) -> str:
    """Return an estimate and its standard error; nothing if there is none."""
    if value is None or error is None:
        return ""
    return f"{format_value(value)} ± {format_value(error)}"


def unmeasured_divergences(metrics: dict[str, Any]) -> list[str]:
    """Return a sentence for each divergence that was not measured, with the reason."""
    measured = metrics.get("policy_divergence", {})
    if "not_measured" in measured:
        return [f"Not measured: {measured['not_measured'].rstrip('.')}."]
    sentences = []
    for terms in ("classifier", "discriminator"):
        reason = measured.get(terms, {}).get("not_measured")
        if reason:
            sentences.append(f"Not measured on the {terms}'s terms: {reason.rstrip('.')}.")
    return sentences
