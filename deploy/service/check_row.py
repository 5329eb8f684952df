"""One row of the table of `solo-deploy --check`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """Result of one check."""

    GO = "GO"
    NO_GO = "NO-GO"
    NOT_CHECKED = "not checked"
    NOT_APPLICABLE = "not applicable"
    """The check has no meaning for this robot; it does not block GO."""


@dataclass(frozen=True)
class CheckRow:
    """One check: measured value, limit, verdict."""

    name: str
    value: str
    limit: str
    verdict: Verdict
    advice: str = ""
    """For NO-GO the cause and what to do; otherwise a note."""


def judged_row(name: str, value: str, limit: str, advice: str, *, good: bool) -> CheckRow:
    """Return a row with GO, or with NO-GO and the advice if `good` is False."""
    if good:
        return CheckRow(name, value, limit, Verdict.GO)
    return CheckRow(name, value, limit, Verdict.NO_GO, advice)
