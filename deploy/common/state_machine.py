"""The controller's state machine: states, events and one transition table."""

from __future__ import annotations

from enum import IntEnum


class ControllerState(IntEnum):
    """State of the controller. Numbers are sent over LCM and logged, so they never change."""

    IDLE = 0
    """At rest on the ground, motors damped."""
    STAND = 1
    """Moving to the standing pose."""
    READY = 2
    """Standing."""
    WALK = 3
    """A skill drives the motors."""
    SIT = 4
    """Lying down."""
    DAMP = 5
    """Motors damped at the operator's request."""
    FAULT = 6
    """Motors damped after a fault, latched until the operator re-arms."""


class ControllerEvent(IntEnum):
    """Event that can change the state."""

    STAND = 1
    WALK = 2
    STOP = 3
    SIT = 4
    DAMP = 5
    REARM = 6
    ARRIVED = 7
    """A slow motion has reached its pose."""
    FAULT = 8


TABLE: dict[tuple[ControllerState, ControllerEvent], ControllerState] = {
    (ControllerState.IDLE, ControllerEvent.STAND): ControllerState.STAND,
    (ControllerState.STAND, ControllerEvent.ARRIVED): ControllerState.READY,
    (ControllerState.STAND, ControllerEvent.SIT): ControllerState.SIT,
    (ControllerState.READY, ControllerEvent.WALK): ControllerState.WALK,
    (ControllerState.READY, ControllerEvent.SIT): ControllerState.SIT,
    (ControllerState.WALK, ControllerEvent.WALK): ControllerState.WALK,  # with another skill
    (ControllerState.WALK, ControllerEvent.STOP): ControllerState.STAND,
    (ControllerState.WALK, ControllerEvent.SIT): ControllerState.SIT,
    (ControllerState.SIT, ControllerEvent.ARRIVED): ControllerState.IDLE,
    (ControllerState.SIT, ControllerEvent.STAND): ControllerState.STAND,
    (ControllerState.DAMP, ControllerEvent.REARM): ControllerState.IDLE,
    (ControllerState.FAULT, ControllerEvent.REARM): ControllerState.IDLE,
    **{
        (state, ControllerEvent.DAMP): ControllerState.DAMP
        for state in ControllerState
        if state is not ControllerState.FAULT
    },
    **{(state, ControllerEvent.FAULT): ControllerState.FAULT for state in ControllerState},
}
"""State after an event. Pairs that are not listed change nothing."""

POWERED = frozenset(
    {ControllerState.STAND, ControllerState.READY, ControllerState.WALK, ControllerState.SIT}
)
"""States in which motors hold positions; in all others they are damped."""


def next_state(state: ControllerState, event: ControllerEvent) -> ControllerState:
    """Return the state after an event."""
    return TABLE.get((state, event), state)


def diagram() -> str:
    """Return the table as a Mermaid diagram, for the documentation."""
    anywhere = (ControllerEvent.DAMP, ControllerEvent.FAULT)
    lines = ["stateDiagram-v2", "    [*] --> IDLE"]
    lines += [
        f"    {state.name} --> {after.name}: {event.name.lower()}"
        for (state, event), after in TABLE.items()
        if event not in anywhere
    ]
    lines += [
        "    note right of DAMP: from every state but FAULT",
        "    note right of FAULT: from every state, latched",
    ]
    return "\n".join(lines)
