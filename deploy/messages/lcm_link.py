"""LCM channels, their messages, and the one strict way to send and receive them."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, Literal, overload

from deploy.common.deploy_config import DEFAULT_URL
from solo_doi.common.errors import MissingPackageError, SoloError

from .authentication import MAC_SIZE, Authority
from .generated import controller_status, joint_command, operator_command, policy_input, robot_state

Message = robot_state | joint_command | operator_command | controller_status | policy_input
"""An object of a generated class."""

STATE: Final = "SOLO_STATE"
COMMAND: Final = "SOLO_COMMAND"
OPERATOR: Final = "SOLO_OPERATOR"
STATUS: Final = "SOLO_STATUS"
OBSERVATION: Final = "SOLO_OBSERVATION"
CHANNELS: dict[str, type[Message]] = {
    STATE: robot_state,
    COMMAND: joint_command,
    OPERATOR: operator_command,
    STATUS: controller_status,
    OBSERVATION: policy_input,
}
"""Class of the messages on every channel. The order numbers the channels in the recorder's ring."""
SIGNED = frozenset({STATE, COMMAND, OPERATOR, STATUS})
"""Channels with authenticated messages: forging one of them could move the robot.

Forged state moves it through the controller. Forged status moves it through the guided script,
which continues when the controller reports the end of a step.
"""
HASH_SIZE = 32
"""Length of a bundle's hash [bytes]."""
LARGEST_BATCH = 64
"""Messages handled in one call of `receive`, more than the full queues of two channels.

The limit keeps a flood of messages from delaying the loop."""


class Mode(IntEnum):
    """Kind of a joint command. Numbers go over LCM and into logs."""

    DAMP = 0
    MOVE = 1
    """Slow motion between poses."""
    POLICY = 2


class Request(IntEnum):
    """Requests of an operator. Numbers from 0 on go over LCM and into logs."""

    NOTHING = 0
    STAND = 1
    WALK = 2
    STOP = 3
    SIT = 4
    DAMP = 5
    REARM = 6
    QUIT = -1
    """Local to the operator's console: lie down, then end the program. Never sent."""


WIRE_REQUESTS: frozenset[int] = frozenset(
    request for request in Request if request is not Request.QUIT
)
"""Requests that a message can hold."""


@overload
def blank(channel: Literal["SOLO_STATE"]) -> robot_state: ...
@overload
def blank(channel: Literal["SOLO_COMMAND"]) -> joint_command: ...
@overload
def blank(channel: Literal["SOLO_OPERATOR"]) -> operator_command: ...
@overload
def blank(channel: Literal["SOLO_STATUS"]) -> controller_status: ...
@overload
def blank(channel: Literal["SOLO_OBSERVATION"]) -> policy_input: ...
@overload
def blank(channel: str) -> Message: ...
def blank(channel: str) -> Message:
    """Return a message of a channel with its byte fields at full length."""
    message = CHANNELS[channel]()
    for name, size in (("mac", MAC_SIZE), ("bundle", HASH_SIZE)):
        if hasattr(message, name):
            setattr(message, name, bytes(size))
    return message


SIZES = {channel: len(blank(channel).encode()) for channel in CHANNELS}
"""Length of the messages on every channel [bytes]; all fields have a fixed size."""


def decode(channel: str, data: bytes) -> Message | None:
    """Decode a message; None if size or type fingerprint differ, or the channel is unknown."""
    if len(data) != SIZES.get(channel):
        return None
    try:
        return CHANNELS[channel].decode(data)
    except (ValueError, struct.error):  # another fingerprint
        return None


def new_session() -> int:
    """Draw a number that identifies one process of this robot."""
    return secrets.randbits(62) + 1


class ReplayFilter:
    """Accepts new operator messages, and refuses recorded ones that are sent again."""

    def __init__(self) -> None:
        """Start without a message."""
        self._newest_ns = 0

    def accept(self, command: operator_command, now_ns: int) -> bool:
        """Return True if a message is newer than all before it and not expired.

        All operators of a host share its clock, so their messages can be ordered by time.
        """
        fresh = self._newest_ns < command.time_ns <= now_ns < command.expires_ns
        if fresh:
            self._newest_ns = command.time_ns
        return fresh


class LcmLink:
    """An LCM connection that delivers complete, authentic messages and counts the others."""

    def __init__(self, authority: Authority, url: str = DEFAULT_URL) -> None:
        """Join the multicast group; `authority` signs and checks messages of signed channels."""
        try:
            import lcm
        except ImportError as error:
            raise MissingPackageError(
                "lcm",
                "The control loop",
                "pip install 'solo-doi[robot]'; on Debian also: apt install libglib2.0-0",
            ) from error
        try:
            self._lcm = lcm.LCM(url)
        except RuntimeError as error:
            raise SoloError(
                f"LCM cannot use {url} ({error}). "
                "A host without a default route needs: ip route add 224.0.0.0/4 dev lo"
            ) from error
        self._authority = authority
        self.malformed = 0
        """Messages dropped for a wrong size or type."""
        self.forged = 0
        """Messages dropped for a wrong authentication code."""
        self.unsent = 0
        """Messages that could not be sent, for example without a network card or route."""

    def subscribe(
        self, channel: str, handler: Callable[[Any, bytes], None], queue: int = 30
    ) -> None:
        """Call `handler` with every authentic message of the channel's class, and its bytes."""

        def receive(_: str, data: bytes) -> None:
            message = decode(channel, data)
            if message is None:
                self.malformed += 1
            elif channel in SIGNED and not self._authority.genuine(data):
                self.forged += 1
            else:
                handler(message, data)

        self._lcm.subscribe(channel, receive).set_queue_capacity(queue)

    def publish(self, channel: str, message: Message) -> bytes:
        """Send a message and return its bytes.

        A failure is only counted: the receiver's watchdog damps when messages stop.
        """
        data = message.encode()
        if channel in SIGNED:
            data = self._authority.sign(data)
        try:
            self._lcm.publish(channel, data)
        except OSError:
            self.unsent += 1
        return data

    def receive(self, timeout: float = 0.0) -> int:
        """Handle the messages that have arrived, and return their number.

        Waits up to `timeout` seconds for the first one. Handles at most `LARGEST_BATCH`, dropped
        ones included; the rest stays in the queue for the next call.
        """
        count = 0
        wait_ms = int(1000 * timeout)
        try:
            while count < LARGEST_BATCH and self._lcm.handle_timeout(wait_ms) > 0:
                count += 1
                wait_ms = 0
        except OSError:  # interrupted by a signal, after its handler has run
            pass
        return count
