"""Errors for broken rules of Isaac Gym, which itself returns stale numbers or crashes.

The double names the rule.
"""

from __future__ import annotations


class RuleError(Exception):
    """A broken rule of Isaac Gym."""


class NotDoubledError(Exception):
    """A function of Isaac Gym that this double lacks."""


def require(condition: bool, rule: str) -> None:
    """Raise if a rule is broken."""
    if not condition:
        raise RuleError(rule)


def require_doubled(condition: bool, what: str) -> None:
    """Raise if the double lacks a function."""
    if not condition:
        raise NotDoubledError(what)
