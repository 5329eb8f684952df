"""Replay of a log: run the controller again, and compare its observations and commands."""

from __future__ import annotations

import math
from pathlib import Path

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
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATUS_CHANNEL,
    WIRE_REQUESTS,
    Message,
    decode,
)
from deploy.messages.operator_request import operator_request_of
from deploy.recorder.kept_bundle import KEPT_BUNDLE_FILE
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import find_bundle
from solo_doi.solo12.observation import LAYOUTS

from .replay_comparison import ReplayComparison


def find_log(path: Path) -> Path:
    """Return the log of a folder, or the log itself."""
    log = path / LOG_FILE if path.is_dir() else path
    if not log.is_file():
        raise SoloError(
            f"{log}: no such file. Expected the folder of a deployment, or of one of its incidents."
        )
    if not (log.parent / CONFIG_FILE).is_file():
        raise SoloError(
            f"{log}: {CONFIG_FILE} is not beside it. Replay a log in the folder it was written to."
        )
    return log


def open_log(path: Path) -> tuple[Path, DeployConfig, Bundle]:
    """Return a log with the configuration and the bundle of its folder."""
    log = find_log(path)
    config = settings.read(DeployConfig, log.parent / CONFIG_FILE)
    copy = log.parent / KEPT_BUNDLE_FILE  # the bundle that ran; folders of 0.2 may have none
    if copy.is_file():
        return log, config, Bundle(copy)
    bundle_path = find_bundle(config.bundle)
    named = log.parent / bundle_path.name  # incidents of 0.2 keep the bundle under its own name
    return log, config, Bundle(named if named.is_file() else bundle_path)


def replay(path: Path) -> ReplayComparison:
    """Run the controller on a log; the log must begin at the controller's start.

    Configuration and bundle are those of the log's folder.
    """
    log, config, bundle = open_log(path)
    replayer = _Replayer(log, config, bundle)
    for _, channel, data in read_log(log):
        replayer.on_message(channel, _read(log, channel, data))
    if replayer.found.ticks == 0:
        raise SoloError(f"{log}: holds no command of a controller; there is nothing to replay.")
    return replayer.found


class _Replayer:
    """Feeds the messages of a log to a controller, in the order of the control loop."""

    def __init__(self, log: Path, config: DeployConfig, bundle: Bundle) -> None:
        self.found = ReplayComparison()
        self._log = log
        self._layout = LAYOUTS[bundle.contract.task]
        self._controller = Controller(
            bundle, config.skill, config.controller, force=config.force, distance=config.distance
        )
        self._observation: policy_input | None = None
        self._tick_has_begun = False

    def on_message(self, channel: str, message: Message) -> None:
        # The first of these three in the log begins a tick.
        if (
            channel in (STATUS_CHANNEL, OPERATOR_CHANNEL, COMMAND_CHANNEL)
            and not self._tick_has_begun
        ):
            self._begin_tick(message)
        if isinstance(message, robot_state):
            self._controller.on_robot_state(message)
        elif isinstance(message, operator_command):
            request = operator_request_of(message)
            self._controller.on_operator_request(
                request.request, message.time_ns, request.skill, request.velocity
            )
        elif isinstance(message, policy_input):
            self._observation = message
        elif isinstance(message, joint_command):
            self._end_tick(message)

    def _begin_tick(self, message: Message) -> None:
        self._tick_has_begun = True
        late_ticks = 0
        if isinstance(message, controller_status):
            late_ticks = round(message.lateness / TICK * 1e6) // 10**6
        self._controller.on_late_ticks(late_ticks)

    def _end_tick(self, logged: joint_command) -> None:
        """Run the controller's tick, and compare its result with the logged command."""
        if self.found.ticks == 0 and logged.sequence != 1:
            raise SoloError(
                f"{self._log}: begins at tick {logged.sequence}; only a log from the start can be "
                "replayed."
            )
        self._controller.on_heartbeat(logged.heartbeat_ns)
        command = self._controller.tick(logged.time_ns)
        observation = self._controller.observation_message(logged.time_ns)
        if self._observation is not None and observation is not None:
            self.found.compare_observations(self._layout, self._observation, observation)
        self.found.compare_commands(logged, command)
        self._observation = None
        self._tick_has_begun = False


def _read(log: Path, channel: str, data: bytes) -> Message:
    """Decode a message; refuse it if its request is unknown or its lateness invalid."""
    message = decode(channel, data)
    is_unknown = isinstance(message, operator_command) and message.request not in WIRE_REQUESTS
    is_untimed = isinstance(message, controller_status) and not 0.0 <= message.lateness < math.inf
    if message is None or is_unknown or is_untimed:
        raise SoloError(f"{log}: holds a message of {channel!r} that this version does not read.")
    return message
