"""What the controller does when: states, events and one table."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """What the controller does. Numbers go over LCM and into logs."""

    IDLE = 0
    """At rest on the ground, motors damped."""
    STAND = 1
    """On the way to the standing pose."""
    READY = 2
    """Standing."""
    WALK = 3
    """A skill has the motors."""
    SIT = 4
    """On the way to the ground."""
    DAMP = 5
    """Motors damped, because a person asked for it."""
    FAULT = 6
    """Motors damped, because something is wrong; only a person ends it."""


class Event(IntEnum):
    """What makes the state change."""

    STAND = 1
    WALK = 2
    STOP = 3
    SIT = 4
    DAMP = 5
    REARM = 6
    ARRIVED = 7
    """A slow motion has reached its pose."""
    FAULT = 8


TABLE: dict[tuple[State, Event], State] = {
    (State.IDLE, Event.STAND): State.STAND,
    (State.STAND, Event.ARRIVED): State.READY,
    (State.STAND, Event.SIT): State.SIT,
    (State.READY, Event.WALK): State.WALK,
    (State.READY, Event.SIT): State.SIT,
    (State.WALK, Event.WALK): State.WALK,  # with another skill
    (State.WALK, Event.STOP): State.STAND,
    (State.WALK, Event.SIT): State.SIT,
    (State.SIT, Event.ARRIVED): State.IDLE,
    (State.SIT, Event.STAND): State.STAND,
    (State.DAMP, Event.REARM): State.IDLE,
    (State.FAULT, Event.REARM): State.IDLE,
    **{(state, Event.DAMP): State.DAMP for state in State if state is not State.FAULT},
    **{(state, Event.FAULT): State.FAULT for state in State},
}
"""Where an event leads. What is not listed changes nothing: a fault outlives every wish but a re-arming."""

POWERED = frozenset({State.STAND, State.READY, State.WALK, State.SIT})
"""States in which motors hold positions; in all others they are damped."""


def next_state(state: State, event: Event) -> State:
    """Return the state after an event."""
    return TABLE.get((state, event), state)


def diagram() -> str:
    """Return the table as a Mermaid diagram, for the documentation."""
    anywhere = (Event.DAMP, Event.FAULT)
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
