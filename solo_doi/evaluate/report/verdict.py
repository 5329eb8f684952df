"""Verdict on the skills of a run in plain words, for the top of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COUNT_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def verdict(metrics: dict[str, Any], commanded: float) -> list[str]:
    """Return sentences that a reader without the paper understands, the most important first.

    `commanded` is the commanded forward velocity [m/s].
    """
    sentences = []
    if "visibly_different" in metrics:
        sentences.append(_difference(metrics))
    sentences.append(_walking(metrics, commanded))
    sentences.append(_likeness(metrics))
    sentences.append(_falls(metrics))
    if "selected" in metrics:
        sentences.append(_robustness(metrics))
    return sentences


def _difference(metrics: dict[str, Any]) -> str:
    skills = len(metrics["skills"])
    group = metrics["visibly_different"]
    if len(group) < 2:
        return f"No two of {_count(skills)} skills that walk look different."
    text = f"{_count(len(group)).capitalize()} of {_count(skills)} skills look different"
    others = [skill for skill in metrics["walking"] if skill not in group]
    text += f" from each other: {_listed(group)}."
    if others:
        verb = "resembles" if len(others) == 1 else "each resemble"
        text += f" {_listed(others).capitalize()} {verb} one of them."
    return text


def _walking(metrics: dict[str, Any], commanded: float) -> str:
    skills = metrics["skills"]
    speeds = [skill["vx"] for skill in skills]
    pace = f"{min(speeds):.2f} to {max(speeds):.2f} m/s, {commanded:g} m/s commanded"
    able = metrics.get("walking", range(len(skills)))
    lame = [skill["skill"] for skill in skills if skill["skill"] not in able]
    if not lame:
        return f"All walk: {pace}."
    verb = "does" if len(lame) == 1 else "do"
    return f"{_listed(lame).capitalize()} {verb} not walk well enough. Speeds: {pace}."


def _likeness(metrics: dict[str, Any]) -> str:
    returns = {skill["skill"]: skill["return_pct"] for skill in metrics["skills"]}
    worst = min(returns, key=lambda skill: returns[skill])
    mean = sum(returns.values()) / len(returns)
    text = f"They keep the commanded velocity {mean:.0f} % as well as the expert they imitate"
    if len(returns) > 1:
        text += f" (worst: skill {worst}, {returns[worst]:.0f} %)"
    return f"{text}."


def _falls(metrics: dict[str, Any]) -> str:
    pooled = metrics["falls_pooled"]
    low, high = pooled["interval"]
    chance = f"{100 * low:.1f} to {100 * high:.1f} % of walks are expected to end in a fall"
    falls = pooled["falls"]
    noun = "fall" if falls == 1 else "falls"
    count = _count(falls).capitalize()
    return f"{count} {noun} in {pooled['rollouts']} simulated walks: {chance}."


def _robustness(metrics: dict[str, Any]) -> str:
    selected = metrics["selected"]
    if not selected:
        return "No skill is robust in all simulated conditions: do not try them on a robot."
    return f"Robust in all simulated conditions, and selected for the robot: {_listed(selected)}."


def _count(number: int) -> str:
    """Return a small number as a word."""
    return COUNT_WORDS[number] if number < len(COUNT_WORDS) else str(number)


def _listed(skills: Sequence[int]) -> str:
    """Return skills as text, such as `skills 0, 2 and 3`."""
    if len(skills) == 1:
        return f"skill {skills[0]}"
    *most, last = map(str, skills)
    return f"skills {', '.join(most)} and {last}"
