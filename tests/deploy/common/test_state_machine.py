"""States and events: every pair against a table that was written by hand."""

from __future__ import annotations

import re

import pytest

from deploy.common.state_machine import (
    POWERED,
    TABLE,
    ControllerEvent,
    ControllerState,
    diagram,
    next_state,
)
from deploy.controller.controller import EVENTS
from deploy.messages.lcm_link import WIRE_REQUESTS, Request

ORDER = ("STAND", "WALK", "STOP", "SIT", "DAMP", "REARM", "ARRIVED", "FAULT")
EXPECTED = {  # one column for each of the events above
    "IDLE":  ("STAND", "IDLE",  "IDLE",  "IDLE",  "DAMP",  "IDLE",  "IDLE",  "FAULT"),
    "STAND": ("STAND", "STAND", "STAND", "SIT",   "DAMP",  "STAND", "READY", "FAULT"),
    "READY": ("READY", "WALK",  "READY", "SIT",   "DAMP",  "READY", "READY", "FAULT"),
    "WALK":  ("WALK",  "WALK",  "STAND", "SIT",   "DAMP",  "WALK",  "WALK",  "FAULT"),
    "SIT":   ("STAND", "SIT",   "SIT",   "SIT",   "DAMP",  "SIT",   "IDLE",  "FAULT"),
    "DAMP":  ("DAMP",  "DAMP",  "DAMP",  "DAMP",  "DAMP",  "IDLE",  "DAMP",  "FAULT"),
    "FAULT": ("FAULT", "FAULT", "FAULT", "FAULT", "FAULT", "IDLE",  "FAULT", "FAULT"),
}  # fmt: skip


def test_the_expectation_covers_every_pair() -> None:
    """A new state or event needs a new row or column here."""
    assert set(EXPECTED) == {state.name for state in ControllerState}
    assert sorted(ORDER) == sorted(event.name for event in ControllerEvent)
    assert all(len(row) == len(ORDER) for row in EXPECTED.values())


@pytest.mark.parametrize("event", ControllerEvent)
@pytest.mark.parametrize("state", ControllerState)
def test_every_event_in_every_state(state: ControllerState, event: ControllerEvent) -> None:
    """Listed pairs change the state; all other pairs keep it."""
    assert next_state(state, event).name == EXPECTED[state.name][ORDER.index(event.name)]


@pytest.mark.parametrize("state", ControllerState)
def test_a_fault_is_possible_from_everywhere(state: ControllerState) -> None:
    """Damping is possible from all states except a fault, which stays latched."""
    assert next_state(state, ControllerEvent.FAULT) is ControllerState.FAULT
    assert next_state(state, ControllerEvent.DAMP) is (
        ControllerState.FAULT if state is ControllerState.FAULT else ControllerState.DAMP
    )


def test_a_fault_is_left_by_rearming_alone() -> None:
    """Other requests, and motions that arrive, do not clear it."""
    leaving = {
        event
        for event in ControllerEvent
        if next_state(ControllerState.FAULT, event) is not ControllerState.FAULT
    }
    assert leaving == {ControllerEvent.REARM}
    assert next_state(ControllerState.FAULT, ControllerEvent.REARM) is ControllerState.IDLE


def test_motors_are_damped_after_rearming() -> None:
    """Standing up needs a second request after re-arming."""
    assert {
        next_state(state, ControllerEvent.REARM)
        for state in (ControllerState.DAMP, ControllerState.FAULT)
    }.isdisjoint(POWERED)


def test_powered_states_are_those_that_hold_positions() -> None:
    """In the other three states the robot may be touched."""
    assert {state.name for state in POWERED} == {"STAND", "READY", "WALK", "SIT"}


@pytest.mark.parametrize("state", ControllerState)
def test_every_state_can_be_reached_and_left(state: ControllerState) -> None:
    """Events lead from idle to every state and back."""
    reached = {ControllerState.IDLE}
    for _ in ControllerState:
        reached |= {next_state(one, event) for one in reached for event in ControllerEvent}
    assert state in reached
    back = {state}
    for _ in ControllerState:
        back |= {next_state(one, event) for one in back for event in ControllerEvent}
    assert ControllerState.IDLE in back


def test_an_operator_can_request_all_events_but_internal_ones() -> None:
    """Requests and events have the same names."""
    assert {request.name: event.name for request, event in EVENTS.items()} == {
        name: name for name in ("STAND", "WALK", "STOP", "SIT", "DAMP")
    }
    assert WIRE_REQUESTS - set(EVENTS) == {
        Request.NOTHING,
        Request.REARM,
    }  # it waits for the robot


def test_numbers_of_states_stay() -> None:
    """Logs contain these numbers."""
    assert [(state.name, state.value) for state in ControllerState] == [
        ("IDLE", 0), ("STAND", 1), ("READY", 2), ("WALK", 3), ("SIT", 4), ("DAMP", 5), ("FAULT", 6)
    ]  # fmt: skip


def test_the_diagram_shows_exactly_the_table() -> None:
    """Each entry has one arrow; transitions from every state are notes."""
    lines = diagram().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> IDLE"]
    arrows = [re.fullmatch(r"    (\w+) --> (\w+): (\w+)", line) for line in lines[2:-2]]
    assert all(arrows)
    drawn = [match.groups() for match in arrows if match]
    expected = [
        (state.name, after.name, event.name.lower())
        for (state, event), after in TABLE.items()
        if event not in (ControllerEvent.DAMP, ControllerEvent.FAULT)
    ]
    assert sorted(drawn) == sorted(expected)
    assert len(set(drawn)) == len(drawn)
    assert lines[-2:] == [
        "    note right of DAMP: from every state but FAULT",
        "    note right of FAULT: from every state, latched",
    ]
