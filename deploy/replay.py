"""Runs the controller again on a log: does it still answer the same, and if not, which number differs first?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi import config as configuration
from solo_doi.errors import SoloError
from solo_doi.policies.bundle import Bundle
from solo_doi.solo12.constants import JOINT_NAMES

from .config import CONFIG_FILE, DeployConfig
from .controller import Controller
from .messages.wire import COMMAND, OPERATOR, STATE, decode
from .operators import wish_of
from .recorder import LOG_FILE, read_log
from .shipped import SHIPPED

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


@dataclass(frozen=True)
class Replay:
    """What a replay found."""

    ticks: int
    difference: Difference | None
    largest: float
    """Largest difference of any joint target [rad]."""


def find_log(path: Path) -> Path:
    """Return the log of a folder, or the log itself."""
    log = path / LOG_FILE if path.is_dir() else path
    if not log.is_file():
        raise SoloError(f"{log}: no such file. Expected the folder of a deployment, or of one of its incidents.")
    return log


def replay(path: Path) -> Replay:
    """Run the controller of a log's folder on the log; the log must reach back to the controller's start."""
    log = find_log(path)
    config = configuration.read(DeployConfig, log.parent / CONFIG_FILE)
    kept = log.parent / (config.bundle or SHIPPED).name  # an incident's own copy
    bundle = Bundle(kept if kept.is_file() else config.bundle or SHIPPED)
    controller = Controller(bundle, config.skill, config.controller, force=config.force)
    ticks, first, largest = 0, None, 0.0
    for _, channel, data in read_log(log):
        message = decode(channel, data)
        if message is None:
            raise SoloError(f"{log}: holds a message of {channel} that this version does not read.")
        if channel == STATE:
            controller.hear(message)
        elif channel == OPERATOR:
            wish = wish_of(message)
            controller.ask(wish.request, message.time_ns, wish.skill, wish.velocity)
        elif channel == COMMAND:
            if ticks == 0 and message.sequence != 1:
                raise SoloError(
                    f"{log}: begins at tick {message.sequence}; only a log from the start can be run again."
                )
            ticks += 1
            controller.alive(message.heartbeat_ns)
            answer = controller.tick(message.time_ns)
            largest = max(largest, float(np.abs(np.subtract(answer.position, message.position)).max()))
            first = first or _difference(message, answer)
    return Replay(ticks, first, largest)


def _difference(logged: Any, replayed: Any) -> Difference | None:  # noqa: ANN401  # generated classes have no types
    for term in TERMS:
        before, now = (np.atleast_1d(getattr(message, term)) for message in (logged, replayed))
        differing = np.flatnonzero(before != now)
        if differing.size:
            index = int(differing[0])
            name = f"target of {JOINT_NAMES[index]}" if term == "position" else term
            return Difference(logged.sequence, name, float(before[index]), float(now[index]))
    return None
