"""Time series of a log: motion of the base and contacts, as the controller estimates them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import ControllerState
from deploy.controller.controller_process import CONTROLLER_REPORT_FILE
from deploy.messages.conversions import sensors_from_message
from deploy.messages.generated import joint_command, robot_state
from deploy.messages.lcm_link import Mode
from solo_doi.solo12.constants import Array
from solo_doi.solo12.estimator import Estimate, Estimator

SUPPORTING = 0.5
"""Weight of a foot from which it counts as on the ground."""
MODE_STATES = {
    Mode.DAMP: ControllerState.IDLE,
    Mode.MOVE: ControllerState.READY,
    Mode.POLICY: ControllerState.WALK,
}
"""State to show for a command if the controller's report is missing, as beside an incident."""


@dataclass(frozen=True)
class BaseSeries:
    """Estimates over time."""

    time: Array  # (ticks,) [s]
    forward: Array  # (ticks,) [m/s]
    tilt: Array  # (ticks,) [rad]
    contact: np.ndarray  # (ticks, 4) True for a foot on the ground


@dataclass(frozen=True)
class StateSpan:
    """Time in which the controller was in one state with one skill."""

    state: ControllerState
    begin: float
    end: float
    skill: int = -1

    @property
    def label(self) -> str:
        """Name of the state, and the skill of a walk."""
        if self.skill < 0:
            return self.state.name
        return f"{self.state.name} {self.skill}"


def recorded_estimates(states: Iterable[robot_state]) -> Iterator[tuple[Sensors, Estimate]]:
    """Run the controller's estimator on recorded states; those with other numbers are left out."""
    estimator = Estimator()
    for state in states:
        sensors = sensors_from_message(state)
        if sensors.finite:
            yield sensors, estimator.update(
                sensors.joint_position, sensors.joint_velocity, sensors.joint_torque,
                sensors.angular_velocity_b, sensors.acceleration_b, TICK,
            )  # fmt: skip


def base_series(states: list[robot_state]) -> BaseSeries:
    """Return velocity, tilt and supporting feet by the controller's estimator."""
    rows = []
    for sensors, estimate in recorded_estimates(states):
        tilt = np.arccos(np.clip(-estimate.gravity_b[2], -1.0, 1.0))
        rows.append((sensors.time, estimate.velocity_b[0], tilt, *estimate.foot_weight))
    table = np.array(rows).reshape(-1, 7)
    return BaseSeries(table[:, 0], table[:, 1], table[:, 2], table[:, 3:] >= SUPPORTING)


def read_history(folder: Path) -> list[dict[str, Any]]:
    """Return the controller's states with their times; empty without its report."""
    report = folder / CONTROLLER_REPORT_FILE
    if not report.is_file():
        return []
    history: list[dict[str, Any]] = json.loads(report.read_text())["history"]
    return history


def state_spans(folder: Path, commands: list[joint_command], end: float) -> list[StateSpan]:
    """Return the controller's states up to the time `end` [s]: by its report, or its commands."""
    changes = [
        (entry["time"], ControllerState[entry["state"]], entry.get("skill", -1))
        for entry in read_history(folder)
    ]
    if not changes:
        for command in commands:
            change = (MODE_STATES[Mode(command.mode)], command.skill)
            if not changes or change != changes[-1][1:]:
                changes.append((command.time_ns * 1e-9, *change))
    ends = [time for time, _, _ in changes[1:]] + [end]  # one too many without any change
    return [
        StateSpan(state, begin, until, skill)
        for (begin, state, skill), until in zip(changes, ends, strict=False)
    ]
