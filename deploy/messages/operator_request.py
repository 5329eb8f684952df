"""Operator requests and their messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from solo_doi.solo12.constants import Array

from .lcm_link import OPERATOR, Request, blank

EXPIRY_NS = 200_000_000
"""How long a wish may be on its way."""


@dataclass(frozen=True)
class Wish:
    """What an operator asks for."""

    request: Request
    skill: int = -1
    velocity: Array | None = None


def operator_message(wish: Wish, sequence: int, now_ns: int) -> Any:  # noqa: ANN401  # generated, without types
    """Return a wish as it goes over LCM and into logs."""
    message = blank(OPERATOR)
    message.sequence, message.time_ns, message.expires_ns = sequence, now_ns, now_ns + EXPIRY_NS
    message.request, message.skill = wish.request, wish.skill
    message.velocity = (np.full(3, np.nan) if wish.velocity is None else wish.velocity).tolist()
    return message


def wish_of(message: Any) -> Wish:  # noqa: ANN401  # generated classes have no types
    """Return the wish that a message holds."""
    velocity = np.array(message.velocity)
    return Wish(
        Request(message.request), message.skill, velocity if np.isfinite(velocity).all() else None
    )
