"""Policy steps of logs as arrays in one file: `python -m deploy.logs.walk_steps OUT LOG...`.

`solo-collect from-logs` runs it in a separate process, since collection imports nothing of
deployment.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import numpy as np

from deploy.messages.generated import policy_input
from deploy.messages.lcm_link import decode
from deploy.recorder.recorder import read_log
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import replacing
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.solo12.observation import LAYOUTS

from .controller_replay import open_log

LONGEST_GAP = 1.5 * CONTROL_DT
"""Time between two policy steps above which one is missing, so that a trajectory ends [s]."""


@dataclass
class LoggedWalk:
    """Consecutive policy steps with one skill."""

    log: int
    """Number of the log."""
    skill: int
    observations: list[list[float]] = field(default_factory=list)
    """Observation of every step; the last one has no action that is known."""
    ended_ns: int = 0
    """Time of the last step [ns]."""
    session: int = 0
    """Controller that walked."""

    def continues_with(self, message: policy_input) -> bool:
        """Return True if a policy step is the next one of this walk."""
        gap = 1e-9 * (message.time_ns - self.ended_ns)
        return self.session == message.session and 0 < gap <= LONGEST_GAP


def logged_walks(path: Path, number: int) -> tuple[str, list[LoggedWalk]]:
    """Return the task of a log and its walks of two or more policy steps."""
    log, _, bundle = open_log(path)
    walks: list[LoggedWalk] = []
    for _, channel, data in read_log(log):
        message = decode(channel, data)
        if not isinstance(message, policy_input):
            continue
        observation = list(message.observation)
        if walks and walks[-1].continues_with(message):
            walks[-1].observations.append(observation)
        if not walks or not walks[-1].continues_with(message) or walks[-1].skill != message.skill:
            walks.append(LoggedWalk(number, message.skill, [observation]))
        walks[-1].ended_ns = message.time_ns
        walks[-1].session = message.session
    return bundle.contract.task, [walk for walk in walks if len(walk.observations) > 1]


def walk_arrays(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """Return the transitions of all logs.

    The action of a step is in the next observation, as the action before.

    Raises:
        SoloError: There are no policy steps, or the logs are of different tasks.
    """
    tasks: set[str] = set()
    walks: list[LoggedWalk] = []
    for number, path in enumerate(paths):
        task, found = logged_walks(path, number)
        tasks.add(task)
        walks += found
    if len(tasks) != 1 or not walks:
        raise SoloError(
            f"{len(paths)} logs with {len(walks)} walks of the tasks {sorted(tasks)}: expected at "
            "least one walk, and one task."
        )
    (task,) = tasks
    observations = []
    following = []
    for walk in walks:
        steps = np.array(walk.observations, dtype=np.float32)
        observations.append(steps[:-1])
        following.append(steps[1:])
    lengths = np.array(list(map(len, following)))
    after = np.concatenate(following)
    return {
        "task": np.array(task),
        "observations": np.concatenate(observations),
        "next_observations": after,
        "actions": after[:, LAYOUTS[task].slices["previous_action"]],
        "starts": np.cumsum(lengths) - lengths,
        "skill": np.array(list(map(attrgetter("skill"), walks))),
        "log": np.array(list(map(attrgetter("log"), walks))),
    }


def main(words: Sequence[str]) -> None:
    """Write the file."""
    out, *logs = map(Path, words)
    with one_line("walk_steps"), replacing(out) as partial, partial.open("wb") as file:
        np.savez(file, **walk_arrays(logs))  # type: ignore[arg-type]  # names are keywords


if __name__ == "__main__":
    main(sys.argv[1:])
