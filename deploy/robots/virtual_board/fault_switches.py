"""Named events for a running board: faults of cable, board, drivers, sensors; crane and push."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.protocol import NUM_DRIVERS, NUM_MOTORS
from solo_doi.common.errors import SoloError, UnknownNameError

from .memory_link import LockStep


class KilledError(Exception):
    """Raised to end the board at once, as if its process was killed."""


def _wires(field: str) -> Callable[[LockStep, float], None]:
    def switch(lock_step: LockStep, value: float) -> None:
        for wire in (lock_step.to_board, lock_step.to_pc):
            setattr(wire.faults, field, int(value) if field == "delay" else value)

    return switch


def _stall(lock_step: LockStep, value: float) -> None:
    lock_step.board.stalled = bool(value)


def _link(lock_step: LockStep, value: float) -> None:
    lock_step.board.set_link(up=not value)


def _power_cycle(lock_step: LockStep, value: float) -> None:
    lock_step.board.power_cycle()


def _kill(lock_step: LockStep, value: float) -> None:
    raise KilledError


def _dead_driver(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.drivers.dead[int(value)] = True


def _encoder(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.drivers.broken_encoder[int(value)] = True


def _imu_freeze(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.imu.frozen = bool(value)


def _battery(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.battery = value


def _lower(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.plant.lower()


def _push(lock_step: LockStep, value: float) -> None:
    lock_step.board.body.plant.push(np.array([0.0, value, 0.0]))


@dataclass(frozen=True)
class FaultSwitch:
    """Event that can be triggered in a running board."""

    meaning: str
    """Help text."""
    act: Callable[[LockStep, float], None]
    """Trigger the event with a value."""
    largest: float = 1.0
    """Largest value; the smallest is 0."""


SWITCHES = {
    "drop": FaultSwitch("fraction of packets lost, both ways", _wires("drop")),
    "duplicate": FaultSwitch("fraction of packets that come twice, both ways", _wires("duplicate")),
    "corrupt": FaultSwitch("fraction of packets with changed bytes, both ways", _wires("corrupt")),
    "delay": FaultSwitch(
        "delay of all packets, counted in packets, both ways", _wires("delay"), largest=1000
    ),
    "kill": FaultSwitch("end the board's program at once", _kill),
    "power-cycle": FaultSwitch("electronics off and on", _power_cycle),
    "stall": FaultSwitch("1: the board hangs, 0: it continues", _stall),
    "link-down": FaultSwitch("1: cable out, 0: cable in", _link),
    "dead-driver": FaultSwitch(
        "number of a driver that stops answering", _dead_driver, largest=NUM_DRIVERS - 1
    ),
    "encoder-error": FaultSwitch(
        "number of a motor whose encoder fails", _encoder, largest=NUM_MOTORS - 1
    ),
    "imu-freeze": FaultSwitch("1: the IMU repeats its last values, 0: not", _imu_freeze),
    "battery": FaultSwitch("voltage of the battery without load", _battery, largest=100),
    "lower": FaultSwitch("put the robot on the ground", _lower),
    "push": FaultSwitch("sideways velocity given to the base [m/s]", _push, largest=10),
}


@dataclass(frozen=True)
class FaultEvent:
    """Event at a given time: a switch with its value."""

    tick: int
    """Time of the event, in ticks of the board."""
    name: str
    """Name of the switch."""
    value: float
    """Value for the switch."""

    @classmethod
    def parse(cls, text: str) -> FaultEvent:
        """Parse `name=value@seconds`; the value is 1 by default."""
        what, _, when = text.partition("@")
        name, _, value = what.partition("=")
        if name not in SWITCHES:
            raise UnknownNameError("switch", name, SWITCHES)
        try:
            event = cls(round(float(when) / TICK), name, float(value or 1))
        except ValueError:
            raise SoloError(
                f"{text!r} is not an event: write it as name=value@seconds, e.g. drop=0.2@5."
            ) from None
        if not 0 <= event.value <= SWITCHES[name].largest or event.tick < 0:
            raise SoloError(
                f"{text!r}: expected a value from 0 to {SWITCHES[name].largest} "
                "and a time from 0 on."
            )
        return event


class FaultSchedule:
    """Events in the order of time. Times are ticks of the board, so lock-step is reproducible."""

    def __init__(self, events: list[FaultEvent]) -> None:
        """Sort the events by time."""
        self._events = sorted(events, key=lambda event: event.tick)

    def act(self, lock_step: LockStep) -> None:
        """Trigger all events that are due."""
        while self._events and self._events[0].tick <= lock_step.board.ticks:
            event = self._events.pop(0)
            SWITCHES[event.name].act(lock_step, event.value)
