"""Operator requests and their messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solo_doi.solo12.constants import Array

from .generated import operator_command
from .lcm_link import OPERATOR_CHANNEL, WIRE_REQUESTS, Request, blank

OPERATOR_MESSAGE_LIFETIME_NS = 200_000_000
"""Time after which an operator's message, or a status shown to the operator, is too old [ns]."""


@dataclass(frozen=True)
class OperatorRequest:
    """One request of an operator to the controller."""

    request: Request
    skill: int = -1
    """Skill to walk with; -1 keeps the current one."""
    velocity: Array | None = None
    """Velocity command, (3,) [m/s, m/s, rad/s]; None keeps the current one."""


DAMP = OperatorRequest(Request.DAMP)
"""Request to damp all motors."""


def operator_message(request: OperatorRequest, sequence: int, now_ns: int) -> operator_command:
    """Return the message of a request, for LCM and logs.

    Raises:
        ValueError: The request is handled by the operator's console and never sent.
    """
    if request.request not in WIRE_REQUESTS:
        raise ValueError(f"{request.request.name} is not a request to the controller")
    message = blank(OPERATOR_CHANNEL)
    message.sequence = sequence
    message.time_ns = now_ns
    message.expires_ns = now_ns + OPERATOR_MESSAGE_LIFETIME_NS
    message.request = request.request
    message.skill = request.skill
    if request.velocity is None:
        message.velocity = [np.nan] * 3
    else:
        message.velocity = request.velocity.tolist()
    return message


def operator_request_of(message: operator_command) -> OperatorRequest:
    """Return the request in a message."""
    request = OperatorRequest(Request(message.request), message.skill)
    velocity = np.array(message.velocity)
    if np.isfinite(velocity).all():
        return replace(request, velocity=velocity)
    return request
