"""Put a board on a network interface, in lock-step with its PC or by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.ethernet_link import EthernetLink

from .fault_switches import FaultSchedule
from .memory_link import LockStep

REPEAT = 0.02
"""How long a board in lock-step waits for the PC before it looks whether to stop, and repeats itself [s]."""
REPEATED = 0x88B6
"""Ethernet type of repetitions: of the two that are free for experiments the one that the board does not use."""
LARGEST_DELAY = 5 * TICK
"""A late clock catches up to this; what is beyond is left out, for a real board is never late [s]."""


def serve_lock_step(
    lock_step: LockStep, link: EthernetLink, schedule: FaultSchedule, stop: Callable[[], bool]
) -> None:
    """Make one tick per frame that comes, as fast as they come.

    A PC that is late gets the last measurements again, under the same number: the vendor's library closes the
    connection when it has heard nothing for 50 ms by its own clock, which in lock-step means nothing. They are of
    another Ethernet type, at which that library does not look, so that they pile up before nobody else.
    """
    last: list[bytes] = []
    while not stop():
        frame = link.receive(REPEAT)
        if frame is None:
            for payload in last:
                link.send(payload, REPEATED)
            continue
        schedule.act(lock_step)
        last = lock_step.exchange(frame.payload)
        for payload in last:
            link.send(payload)


def serve_by_clock(
    lock_step: LockStep, link: EthernetLink, schedule: FaultSchedule, stop: Callable[[], bool]
) -> None:
    """Make one tick per millisecond; those left out because this machine was late are counted."""
    board = lock_step.board
    deadline = time.monotonic()
    while not stop():
        deadline += TICK
        schedule.act(lock_step)
        while (frame := link.receive(max(0.0, deadline - time.monotonic()))) is not None:
            for payload in lock_step.to_board.pass_on(frame.payload):
                _send(lock_step, link, board.receive(payload))
        _send(lock_step, link, board.tick())
        behind = time.monotonic() - deadline
        if behind > LARGEST_DELAY:
            lock_step.left_out += int(behind / TICK)
            deadline = time.monotonic()


def _send(lock_step: LockStep, link: EthernetLink, payload: bytes | None) -> None:
    for out in lock_step.to_pc.pass_on(payload) if payload is not None else ():
        link.send(out)
