"""Model card of a bundle: a short Markdown description with front matter for model hubs."""

from __future__ import annotations

from collections.abc import Iterator

from solo_doi.policies.bundle.contract import Contract
from solo_doi.policies.bundle.reader import Bundle

FRONT_MATTER = """---
library_name: solo-doi
pipeline_tag: robotics
tags: [reinforcement-learning, solo12, onnx]
---"""
"""Metadata that model hubs read."""
FIRST_COLUMNS = ("skill", "selected")


def model_card(bundle: Bundle, title: str) -> str:
    """Return the card of a bundle as Markdown."""
    contract = bundle.contract
    terms = ", ".join(term["name"] for term in contract.observation)
    lines = [
        FRONT_MATTER,
        "",
        f"# {title}",
        "",
        f"{bundle.num_skills} {contract.task} skills for Solo12 in one ONNX file, "
        f"SHA-256 `{bundle.hash}`.",
        "",
        f"Observation ({bundle.observation_size} numbers, SI units, base frame): {terms}.",
        f"Joint targets at {1 / contract.control_dt:.0f} Hz, kp {contract.kp:g} N m/rad, "
        f"kd {contract.kd:g} N m s/rad.",
        "",
        *_skills(contract),
    ]
    return "\n".join(lines) + "\n"


def _skills(contract: Contract) -> Iterator[str]:
    """Lines about the evaluation of the skills."""
    if not contract.skills:
        yield "Its skills have not been evaluated."
        return
    # The contract's JSON is sorted by name; the skill's number belongs first.
    others = (name for name in contract.skills[0] if name not in FIRST_COLUMNS)
    names = [*FIRST_COLUMNS, *others]
    yield _row(names)
    yield "|" + "---|" * len(names)
    for skill in contract.skills:
        yield _row([_cell(skill.get(name)) for name in names])
    rule = contract.made_from.get("selection")
    if rule:
        yield ""
        yield f"Selected skills have {rule}."


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
