"""Errors for broken rules of Isaac Gym, which itself returns stale numbers or crashes.

The double names the rule.
"""

from __future__ import annotations


class RuleError(Exception):
    """A rule of Isaac Gym that its user broke."""


class NotDoubledError(Exception):
    """Something that Isaac Gym can do and this double cannot."""


def require(condition: bool, rule: str) -> None:
    """Raise if a rule is broken."""
    if not condition:
        raise RuleError(rule)


def require_doubled(condition: bool, what: str) -> None:
    """Raise if the double would have to do what it does not do."""
    if not condition:
        raise NotDoubledError(what)
