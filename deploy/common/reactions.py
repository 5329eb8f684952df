"""Reactions to faults by severity: one table for controller and robot process.

A reaction is latched with its fault. A graver fault escalates it, and only an operator who re-arms
ends it.
"""

from __future__ import annotations

from enum import IntEnum

from .faults import Cause, Fault


class Reaction(IntEnum):
    """Reaction to a latched fault, by severity."""

    STAND = 1
    """Stop walking and stand. The operator may only lie down or damp."""
    SIT = 2
    """Lie down in a controlled way, then damp. Sensors and motors are sound."""
    DAMP = 3
    """Damp the motors at once: nothing can be controlled safely any more."""


REACTIONS: dict[Cause, Reaction] = {
    Cause.DELAY: Reaction.STAND,
    Cause.STATE_GAP: Reaction.SIT,
    Cause.OVERRUN: Reaction.SIT,
    Cause.OPERATOR_SILENT: Reaction.SIT,
    Cause.COMMAND_STALE: Reaction.SIT,
    Cause.VOLTAGE: Reaction.SIT,
    Cause.MOTOR_HOT: Reaction.SIT,
}
"""Reactions of causes that leave sensors and motors sound; all others damp."""


def reaction_to(fault: Fault) -> Reaction:
    """Return the reaction to a fault; that of the robot's own cause, if it is behind the fault."""
    cause = fault.cause
    if cause is Cause.ROBOT_FAULT:
        cause = fault.behind
    return REACTIONS.get(cause, Reaction.DAMP)
