"""States of a scripted run as lines, for the terminal."""

from __future__ import annotations

from collections.abc import Callable

from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import ControllerState
from deploy.messages.generated import controller_status
from deploy.messages.lcm_link import STATUS_CHANNEL, LcmLink

SHOWN_WORDS = {
    ControllerState.IDLE: "on the ground, motors damped",
    ControllerState.STAND: "moving to the standing pose",
    ControllerState.READY: "standing",
    ControllerState.SIT: "lying down",
    ControllerState.DAMP: "motors damped at the operator's request",
}


class StateLines:
    """Writes a line whenever the controller's state or skill changes."""

    def __init__(self, link: LcmLink, write: Callable[[str], object]) -> None:
        """Subscribe to the controller's status."""
        self._write = write
        self._begun_ns: int | None = None
        self._shown: tuple[int, int] | None = None
        link.subscribe(STATUS_CHANNEL, self._on_status)

    def _on_status(self, status: controller_status, data: bytes) -> None:
        if status.state not in tuple(ControllerState):
            return  # of another version
        if self._begun_ns is None:
            self._begun_ns = status.time_ns
        state = ControllerState(status.state)
        walking = state is ControllerState.WALK
        now = (status.state, status.skill if walking else -1)
        if now == self._shown:
            return
        self._shown = now
        seconds = 1e-9 * (status.time_ns - self._begun_ns)
        self._write(f"{seconds:6.1f} s  {state.name:5}  {_words(state, status)}\n")


def _words(state: ControllerState, status: controller_status) -> str:
    if state is ControllerState.WALK:
        return f"walking with skill {status.skill}"
    if state is ControllerState.FAULT:
        cause = Cause.of(status.fault)
        behind = Cause.of(status.robot_fault)
        return str(Fault(cause, status.fault_value, status.fault_joint, behind))
    return SHOWN_WORDS[state]
