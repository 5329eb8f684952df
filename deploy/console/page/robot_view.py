"""What the page shows: newest messages in, one snapshot as JSON content out."""

from __future__ import annotations

from collections import deque
from typing import Any

from deploy.common.faults import Cause, Fault
from deploy.common.safety_config import SafetyConfig
from deploy.common.state_machine import POWERED, TABLE, ControllerState
from deploy.messages.conversions import joint_flags
from deploy.messages.generated import controller_status, joint_command, robot_state
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, STATUS_CHANNEL, Message
from solo_doi.policies.bundle.contract import Contract
from solo_doi.solo12.constants import JOINT_NAMES

from .margins import margins

LATENESS_EDGES_US = (50, 100, 200, 500, 1000, 2000, 5000, 10000)
"""Upper edges of the lateness histogram's classes [us]; the last class has everything above."""
KEPT_STATES = 8
"""Robot states that are kept to find the one behind a command."""
STATE_WORDS = {
    ControllerState.IDLE: "lies on the ground",
    ControllerState.STAND: "is standing up",
    ControllerState.READY: "stands",
    ControllerState.WALK: "walks",
    ControllerState.SIT: "is lying down",
    ControllerState.DAMP: "was stopped by the operator",
    ControllerState.FAULT: "was stopped by a fault",
}


class RobotView:
    """Newest messages of one robot, and the histogram of its controller's lateness."""

    def __init__(self, contract: Contract, allowed: frozenset[int], config: SafetyConfig) -> None:
        """Show the `allowed` skills of a bundle."""
        self._contract = contract
        self._config = config
        self._allowed = sorted(allowed)
        self._states: deque[robot_state] = deque(maxlen=KEPT_STATES)
        self._command: joint_command | None = None
        self._state_age = 0.0
        self.status: controller_status | None = None
        """Newest status of the controller."""
        self.lateness = [0] * (len(LATENESS_EDGES_US) + 1)
        """Number of ticks in every class of lateness."""

    @property
    def state(self) -> robot_state | None:
        """Newest state of the robot."""
        if not self._states:
            return None
        return self._states[-1]

    def update(self, channel: str, message: Message) -> None:
        """Take a message; those of other channels change nothing."""
        if channel == STATE_CHANNEL and isinstance(message, robot_state):
            self._states.append(message)
        elif channel == COMMAND_CHANNEL and isinstance(message, joint_command):
            self._command = message
            for state in self._states:
                if state.sequence == message.state_sequence:
                    self._state_age = 1e-6 * (message.time_ns - state.time_ns)
        elif channel == STATUS_CHANNEL and isinstance(message, controller_status):
            self.status = message
            self.count_lateness(message.lateness)

    def count_lateness(self, seconds: float) -> None:
        """Add a tick to the histogram."""
        place = sum(1e6 * seconds > edge for edge in LATENESS_EDGES_US)
        self.lateness[place] += 1

    @property
    def is_stopped(self) -> bool:
        """True if the robot process or the controller damps the motors."""
        ended = (ControllerState.DAMP, ControllerState.FAULT)
        if self.status is not None and self.status.state in ended:
            return True
        return self.state is not None and self.state.fault != 0

    def layout(self) -> dict[str, Any]:
        """Return what does not change: states, skills, command range, joints."""
        low = self._contract.command_range["low"]
        high = self._contract.command_range["high"]
        return {
            "states": [{"name": state.name, "words": STATE_WORDS[state]} for state in STATE_WORDS],
            "skills": self._allowed,
            "all_skills": self._contract.num_skills,
            "command": {"low": low, "high": high, "steerable": low != high},
            "joints": JOINT_NAMES,
            "lateness_edges_us": LATENESS_EDGES_US,
        }

    def snapshot(self) -> dict[str, Any]:
        """Return what the page shows now."""
        status = self.status
        state = self.state
        content: dict[str, Any] = {
            "state": None,
            "possible": [],
            "motors": motor_words(state, status),
            "lateness": self.lateness,
            "margins": [],
        }
        if status is not None and status.state in tuple(ControllerState):
            now = ControllerState(status.state)
            content |= {
                "state": now.name,
                "skill": status.skill if now is ControllerState.WALK else None,
                "possible": [event.name for before, event in TABLE if before is now],
                "velocity": list(status.velocity),
                "ticks": status.ticks,
                "late_ticks": status.overruns,
                "fault": _fault_words(status),
            }
        if state is not None:
            found = margins(state, status, self._command, self._config, self._contract.motor_lag)
            content |= {
                "sequence": state.sequence,
                "time": state.time_ns * 1e-9,
                "position": list(state.joint_position),
                "torque": list(state.joint_torque),
                "quaternion": list(state.quaternion),
                "margins": [margin.to_json() for margin in found],
                "state_age_ms": self._state_age,
            }
        if self._command is not None:
            content["target"] = list(self._command.position)
        return content


def motor_words(state: robot_state | None, status: controller_status | None) -> str:
    """Say what the motors do."""
    if state is None:
        return "unknown: no message from the robot yet"
    if state.fault:
        cause = Fault(Cause.of(state.fault), state.fault_value, state.fault_joint)
        return f"damped by the robot process: {cause}. They brake, but carry nothing"
    lame = [JOINT_NAMES[joint] for joint, ready in enumerate(joint_flags(state.ready)) if not ready]
    if lame:
        return f"{len(lame)} of {len(JOINT_NAMES)} do not follow: {', '.join(lame)}"
    if status is None or status.state not in POWERED:
        return "damped: they brake, but carry nothing"
    if status.state == ControllerState.WALK:
        return f"follow skill {status.skill}: keep away from the legs"
    return "hold positions: keep away from the legs"


def _fault_words(status: controller_status) -> str | None:
    if not status.fault:
        return None
    cause = Cause.of(status.fault)
    behind = Cause.of(status.robot_fault)
    return str(Fault(cause, status.fault_value, status.fault_joint, behind))
