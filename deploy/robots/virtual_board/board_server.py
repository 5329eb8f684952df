"""Connection of a virtual board to a network interface, in lock-step or in real time."""

from __future__ import annotations

import time
from collections.abc import Callable

from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.ethernet_link import EthernetLink

from .fault_switches import FaultSchedule
from .memory_link import LockStep

REPEAT_SECONDS = 0.02
"""Time without a frame from the PC in lock-step after which the last packet is repeated [s]."""
REPEATED = 0x88B6
"""Ethertype of repeated packets: the second of two that are reserved for experiments."""
LARGEST_DELAY = 5 * TICK
"""Largest lateness that is caught up; above it, ticks are skipped and counted [s]."""


def serve_lock_step(
    lock_step: LockStep, link: EthernetLink, schedule: FaultSchedule, stop: Callable[[], bool]
) -> None:
    """Make one tick per received frame.

    While the PC is late, the last measurements are repeated with the same index. Otherwise the
    vendor's library would close the connection after 50 ms of silence by its own clock, which has
    no meaning in lock-step. Repeated packets have another ethertype. The vendor's library accepts
    any type; programs that filter by type do not receive them.
    """
    last: list[bytes] = []
    while not stop():
        frame = link.receive(REPEAT_SECONDS)
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
    """Make one tick per millisecond; count ticks that were skipped because the host was late."""
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
    if payload is None:
        return
    for out in lock_step.to_pc.pass_on(payload):
        link.send(out)
