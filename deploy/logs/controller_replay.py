"""Runs the controller again on a log: does it still see and answer the same, and if not, which number differs first?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.deploy_config import CONFIG_FILE, DeployConfig
from deploy.common.robot_constants import TICK
from deploy.controller.controller import Controller
from deploy.messages.generated import (
    controller_status,
    joint_command,
    operator_command,
    policy_input,
    robot_state,
)
from deploy.messages.lcm_link import (
    COMMAND,
    OPERATOR,
    STATUS,
    WIRE_REQUESTS,
    Message,
    decode,
)
from deploy.messages.operator_request import operator_request_of
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.observation import LAYOUTS, Layout

TERMS = ("mode", "skill", "kp", "kd", "position")


@dataclass(frozen=True)
class Difference:
    """Where a replay first departs from its log."""

    tick: int
    term: str
    logged: float
    replayed: float

    def __str__(self) -> str:
        """Say it in words."""
        return f"tick {self.tick}: {self.term} was {self.logged:.6g}, is now {self.replayed:.6g}"


@dataclass
class Replay:
    """What a replay found."""

    ticks: int = 0
    observations: int = 0
    """How many times the policy's input was compared; logs of older versions hold none."""
    difference: Difference | None = None
    """The first; what the policy sees comes before what it answers."""
    largest: float = 0.0
    """Largest difference of any joint target [rad]."""
    terms: dict[str, float] = field(default_factory=dict)
    """Largest difference of each term of the observation, in its unit."""

    def __str__(self) -> str:
        """Say it in words."""
        if self.difference is None:
            return f"{self.ticks} ticks, {self.observations} observations, all the same"
        terms = ", ".join(f"{name} {size:.3g}" for name, size in self.terms.items() if size)
        most = f"At most: joint targets {self.largest:.3g} rad" + (
            f"; observation {terms}" if terms else ""
        )
        return f"{self.ticks} ticks, {self.observations} observations, first difference at {self.difference}\n{most}"

    def compare(self, logged: joint_command, replayed: joint_command) -> None:
        """Take a command of the log, and the one of now."""
        self.ticks += 1
        self.largest = max(
            self.largest, float(np.abs(np.subtract(replayed.position, logged.position)).max())
        )
        for term in TERMS:
            names = [f"target of {name}" for name in JOINT_NAMES] if term == "position" else [term]
            self._note(logged.sequence, names, getattr(logged, term), getattr(replayed, term))

    def compare_observations(
        self, layout: Layout, logged: policy_input, replayed: policy_input
    ) -> None:
        """Take what the policy saw in the log, and what it sees now."""
        self.observations += 1
        apart = np.abs(np.subtract(replayed.observation, logged.observation))
        for name, place in layout.slices.items():
            self.terms[name] = max(self.terms.get(name, 0.0), float(apart[place].max()))
        names = [f"observation {name}" for name in layout.names]
        self._note(logged.sequence, names, logged.observation, replayed.observation)

    def _note(self, tick: int, names: list[str], logged: Any, replayed: Any) -> None:  # noqa: ANN401  # one or many
        before, now = np.atleast_1d(logged), np.atleast_1d(replayed)
        differing = np.flatnonzero(before != now)
        if self.difference is None and differing.size:
            index = int(differing[0])
            self.difference = Difference(
                tick, names[index], float(before[index]), float(now[index])
            )


def find_log(path: Path) -> Path:
    """Return the log of a folder, or the log itself."""
    log = path / LOG_FILE if path.is_dir() else path
    if not log.is_file():
        raise SoloError(
            f"{log}: no such file. Expected the folder of a deployment, or of one of its incidents."
        )
    if not (log.parent / CONFIG_FILE).is_file():
        raise SoloError(
            f"{log}: {CONFIG_FILE} is not beside it. A log is replayed in the folder it was written to."
        )
    return log


def replay(path: Path) -> Replay:
    """Run the controller of a log's folder on the log; the log must reach back to the controller's start."""
    log = find_log(path)
    config = settings.read(DeployConfig, log.parent / CONFIG_FILE)
    path = find_bundle(config.bundle)
    kept = log.parent / path.name  # an incident's own copy
    bundle = Bundle(kept if kept.is_file() else path)
    controller = Controller(bundle, config.skill, config.controller, force=config.force)
    layout, found, seen, timed = LAYOUTS[bundle.contract.task], Replay(), None, False
    for _, channel, data in read_log(log):
        message = _read(log, channel, data)
        # The first message of a tick is one of these.
        if channel in (STATUS, OPERATOR, COMMAND) and not timed:
            timed = True
            late_ticks = 0
            if isinstance(message, controller_status):
                late_ticks = round(message.lateness / TICK * 1e6) // 10**6
            controller.on_late_ticks(late_ticks)
        if isinstance(message, robot_state):
            controller.on_robot_state(message)
        elif isinstance(message, operator_command):
            wish = operator_request_of(message)
            controller.on_operator_request(wish.request, message.time_ns, wish.skill, wish.velocity)
        elif isinstance(message, policy_input):
            seen = message
        elif isinstance(message, joint_command):
            if found.ticks == 0 and message.sequence != 1:
                raise SoloError(
                    f"{log}: begins at tick {message.sequence}; only a log from the start can be run again."
                )
            controller.on_heartbeat(message.heartbeat_ns)
            answer, sees = (
                controller.tick(message.time_ns),
                controller.observation_message(message.time_ns),
            )
            if seen is not None and sees is not None:
                found.compare_observations(layout, seen, sees)
            found.compare(message, answer)
            seen, timed = None, False
    if not found.ticks:
        raise SoloError(f"{log}: holds no command of a controller; there is nothing to run again.")
    return found


def _read(log: Path, channel: str, data: bytes) -> Message:
    message = decode(channel, data)
    unknown = isinstance(message, operator_command) and message.request not in WIRE_REQUESTS
    untimed = isinstance(message, controller_status) and not 0.0 <= message.lateness < math.inf
    if message is None or unknown or untimed:
        raise SoloError(f"{log}: holds a message of {channel!r} that this version does not read.")
    return message
