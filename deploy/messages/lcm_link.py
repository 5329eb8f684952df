"""What goes over LCM: channels, kinds of messages, and one strict way in and out."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from deploy.common.deploy_config import DEFAULT_URL
from solo_doi.common.errors import MissingPackageError, SoloError

from .authentication import MAC_SIZE, Authority
from .generated import controller_status, joint_command, operator_command, policy_input, robot_state

Message = Any
"""An object of a generated class."""

CHANNELS: dict[str, Any] = {
    "SOLO_STATE": robot_state,
    "SOLO_COMMAND": joint_command,
    "SOLO_OPERATOR": operator_command,
    "SOLO_STATUS": controller_status,
    "SOLO_OBSERVATION": policy_input,
}
STATE, COMMAND, OPERATOR, STATUS, OBSERVATION = CHANNELS
SIGNED = frozenset({STATE, COMMAND, OPERATOR, STATUS})
"""What can move the robot is followed only with the code of somebody who may; who invents its state moves it, too.

So does who invents the controller's: a script that a person begins goes on by it."""
HASH_SIZE = 32
MOST_MESSAGES = 64
"""Handled in one look: a flood must not hold up the loop. More than the full queues of two channels."""


class Mode(IntEnum):
    """What a joint command is part of."""

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


WIRE_REQUESTS = frozenset(request for request in Request if request is not Request.QUIT)
"""Requests that a message can hold."""


def blank(channel: str) -> Message:
    """Return a message of a channel with its byte fields at full length."""
    message = CHANNELS[channel]()
    for name, size in (("mac", MAC_SIZE), ("bundle", HASH_SIZE)):
        if hasattr(message, name):
            setattr(message, name, bytes(size))
    return message


SIZES = {channel: len(blank(channel).encode()) for channel in CHANNELS}
"""Every message has fixed-size fields only: another length is another message."""


def decode(channel: str, data: bytes) -> Message | None:
    """Read a message; None if it is not one of this channel, bit for bit, or the channel is none of ours."""
    if len(data) != SIZES.get(channel):
        return None
    try:
        return CHANNELS[channel].decode(data)
    except (ValueError, struct.error):  # another fingerprint
        return None


def new_session() -> int:
    """Draw a number that no other process of this robot has."""
    return secrets.randbits(62) + 1


class Freshness:
    """Tells an operator's new messages from old ones that somebody kept and sends again."""

    def __init__(self) -> None:
        """Nothing was heard yet."""
        self._time_ns = 0

    def take(self, command: Message, now_ns: int) -> bool:
        """Whether a message is newer than all before and not expired; all operators of a host share its clock."""
        fresh = self._time_ns < command.time_ns <= now_ns < command.expires_ns
        if fresh:
            self._time_ns = command.time_ns
        return fresh


class LcmLink:
    """An LCM connection that hands over whole, genuine messages and counts the others."""

    def __init__(self, authority: Authority, url: str = DEFAULT_URL) -> None:
        """Join the multicast group; `authority` makes and checks the codes of messages that move the robot."""
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
                f"LCM cannot use {url} ({error}). A host without a default route needs: ip route add 224.0.0.0/4 dev lo"
            ) from error
        self._authority = authority
        self.malformed = self.forged = 0
        self.unsent = 0
        """Messages that could not leave, as when a network card or its route is gone."""

    def subscribe(
        self, channel: str, handler: Callable[[Message, bytes], None], queue: int = 30
    ) -> None:
        """Call `handler` with every genuine message and its bytes."""

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
        """Send a message; return its bytes. One that cannot leave is counted: who misses it damps for want of it."""
        data: bytes = message.encode()
        if channel in SIGNED:
            data = self._authority.sign(data)
        try:
            self._lcm.publish(channel, data)
        except OSError:
            self.unsent += 1
        return data

    def receive(self, timeout: float = 0.0) -> int:
        """Handle what has arrived, waiting up to `timeout` seconds for the first message; return how many.

        No more than `MOST_MESSAGES`, forged and malformed ones included: the others wait for the next look.
        """
        count = 0
        wait = int(1000 * timeout)
        try:
            while count < MOST_MESSAGES and self._lcm.handle_timeout(wait) > 0:
                count, wait = count + 1, 0
        except OSError:  # a signal woke it; its handler has run
            pass
        return count
