"""Fault matrix: faults of a walking robot, and their outcome; for tests and benchmark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from deploy.common.faults import Cause
from deploy.common.sensors import Sensors
from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import COMMAND_CHANNEL, SIGNED, STATE_CHANNEL, Mode, blank, decode

from .world import EARLIER_RUN, KEY, MS, WRONG_KEY, Killed, Rig, spoiled


@dataclass(frozen=True)
class Row:
    """A fault, its possible causes, and the longest time to damping."""

    inject: Callable[[Rig], None]
    causes: frozenset[Cause] = frozenset()
    """Causes that controller or robot may report; empty if the robot must continue to walk."""
    within: float = inf
    """Longest time from the fault to damping [s]; infinite if the robot may continue to walk."""
    counted: str = ""
    """Counter of the links or the robot process that must show it."""
    sits: bool = False
    """True if the robot lies down; `within` is then the time to the beginning of lying down."""

    @property
    def survives(self) -> bool:
        """True if the robot must walk to the end."""
        return not self.causes


def _kill(_: Rig) -> None:
    raise Killed


def _freeze(rig: Rig) -> None:
    rig.clock.sleep(0.5)


def _unplug(rig: Rig) -> None:
    rig.clock.tick = None


def _losing(share: float) -> Callable[[Rig], None]:
    def inject(rig: Rig) -> None:
        rng = np.random.default_rng(1)
        rig.wire.meddle = lambda _, data: [] if rng.random() < share else [(0, data)]

    return inject


def _reordering(rig: Rig) -> None:
    rng = np.random.default_rng(2)
    rig.wire.meddle = lambda _, data: [(2 * MS if rng.random() < 0.1 else 0, data)]


def _duplicating(rig: Rig) -> None:
    rig.wire.meddle = lambda _, data: [(0, data), (0, data), (3 * MS, data)]


def _corrupting(rig: Rig) -> None:
    rng = np.random.default_rng(3)

    def meddle(_: str, data: bytes) -> list[tuple[int, bytes]]:
        if rng.random() >= 0.05:
            return [(0, data)]
        spoilt = bytearray(data)
        spoilt[rng.integers(len(data))] ^= 1 << rng.integers(8)
        return [(0, bytes(spoilt))]

    rig.wire.meddle = meddle


def _forging(rig: Rig) -> None:
    """Answer every genuine message with a forged one, signed with another key."""
    authority = Authority(WRONG_KEY)

    def meddle(channel: str, data: bytes) -> list[tuple[int, bytes]]:
        message = decode(channel, data)
        if channel not in SIGNED or message is None:
            return [(0, data)]
        message.sequence += 1
        if channel == COMMAND_CHANNEL:
            message.position, message.kp = (0.8 * np.ones(12)).tolist(), 10.0
        return [(0, data), (0, authority.sign(message.encode()))]

    rig.wire.meddle = meddle


def _replaying(rig: Rig) -> None:
    """Replay all messages that move the robot: soon, before they expire, and late."""
    rig.wire.meddle = lambda _, data: [(0, data), (5 * MS, data), (30 * MS, data), (300 * MS, data)]


def _second_controller(rig: Rig) -> None:
    command = blank(COMMAND_CHANNEL)
    command.sequence, command.session, command.mode = 1, 7, Mode.MOVE
    command.robot_session = rig.process.session
    command.expires_ns = rig.clock.now_ns() + 20 * MS
    rig.wire.inject(None, COMMAND_CHANNEL, rig.links[1].authority.sign(command.encode()))


def _observing(shift_ns: int) -> Callable[[Rig], None]:
    """Let a controller with the key send wrong measurement times in every command."""

    def inject(rig: Rig) -> None:
        def meddle(channel: str, data: bytes) -> list[tuple[int, bytes]]:
            message = decode(channel, data)
            if channel != COMMAND_CHANNEL or message is None:
                return [(0, data)]
            message.observed_ns += shift_ns
            return [(0, rig.links[1].authority.sign(message.encode()))]

        rig.wire.meddle = meddle

    return inject


def _second_robot(rig: Rig) -> None:
    state = blank(STATE_CHANNEL)
    state.sequence, state.session, state.time_ns, state.quaternion = (
        1,
        7,
        rig.clock.now_ns(),
        [1.0, 0.0, 0.0, 0.0],
    )
    rig.wire.inject(None, STATE_CHANNEL, rig.links[0].authority.sign(state.encode()))


def _earlier_run(rig: Rig) -> None:
    """Replay a state that was recorded in an earlier run with the same key, in every tick."""
    authority = Authority(KEY, run=EARLIER_RUN)

    def meddle(channel: str, data: bytes) -> list[tuple[int, bytes]]:
        message = decode(channel, data)
        if channel != STATE_CHANNEL or message is None:
            return [(0, data)]
        message.session, message.sequence = 7, 1
        return [(0, data), (0, authority.sign(message.encode()))]

    rig.wire.meddle = meddle


def _sensing(**changes: Callable[[Sensors], object]) -> Callable[[Rig], None]:
    def inject(rig: Rig) -> None:
        rig.body.spoil = spoiled(**changes)

    return inject


def _imu_frozen(rig: Rig) -> None:
    seen: list[Sensors] = []

    def first(sensors: Sensors) -> Sensors:
        seen.append(sensors)
        return seen[0]

    rig.body.spoil = spoiled(
        angular_velocity_b=lambda now: first(now).angular_velocity_b,
        acceleration_b=lambda now: first(now).acceleration_b,
        quaternion=lambda now: first(now).quaternion,
    )


def _all_frozen(rig: Rig) -> None:
    """Keep sending states with new times and old numbers."""
    seen: deque[Sensors] = deque(maxlen=1)

    def old(sensors: Sensors) -> Sensors:
        if not seen:
            seen.append(sensors)
        return spoiled(time=lambda _: sensors.time)(seen[0])

    rig.body.spoil = old


def _nan_policy(rig: Rig) -> None:
    rig.bundle.spoil = lambda targets: np.full_like(targets, np.nan)


def _wild_policy(rig: Rig) -> None:
    rig.bundle.spoil = lambda targets: targets + 2.0


def _slow_policy(rig: Rig) -> None:
    def spoil(targets: np.ndarray) -> np.ndarray:
        rig.clock.sleep(0.05)
        return targets

    rig.bundle.spoil = spoil


def _jump(sensors: Sensors) -> np.ndarray:
    position = sensors.joint_position.copy()
    position[5] += 1.5
    return position


def _wobble(sensors: Sensors) -> np.ndarray:
    position = sensors.joint_position.copy()
    position[5] += 1.5 * (round(sensors.time * 1000) % 2)
    return position


def _runaway_velocity(sensors: Sensors) -> np.ndarray:
    velocity = sensors.joint_velocity.copy()
    velocity[5] += 20.0
    return velocity


def _zeros(size: int) -> Callable[[Sensors], np.ndarray]:
    return lambda _: np.zeros(size)


def _nan(size: int) -> Callable[[Sensors], np.ndarray]:
    return lambda _: np.full(size, np.nan)


C = Cause
STALE = frozenset({C.COMMAND_STALE, C.STATE_STALE})
LATE = frozenset({C.COMMAND_STALE, C.OVERRUN})
HELD = 0.062
"""Hold of the last command, with one tick of the robot and one of the controller [s]."""
ROWS: dict[str, Row] = {
    "controller killed": Row(_kill, frozenset({C.COMMAND_STALE}), HELD, sits=True),
    "controller frozen for 500 ms": Row(_freeze, LATE, HELD, sits=True),
    "robot process killed": Row(_unplug, frozenset({C.STATE_STALE}), 0.013),
    "10 % of packets lost": Row(_losing(0.1)),
    "30 % of packets lost": Row(_losing(0.3), frozenset({C.STATE_GAP}), 0.15, sits=True),
    "all packets lost": Row(_losing(1.0), STALE, 0.025, sits=True),
    "reordered, 10 % by 2 ms": Row(_reordering, counted="dropped"),
    "duplicated": Row(_duplicating, counted="dropped"),
    "corrupted, 5 %": Row(_corrupting, counted="forged"),
    "forged with another key": Row(_forging, counted="forged"),
    "replayed after 5, 30, 300 ms": Row(_replaying, counted="dropped"),
    "state of an earlier run": Row(_earlier_run, counted="forged"),
    "second controller with the key": Row(
        _second_controller, frozenset({C.COMMAND_FOREIGN}), 0.003
    ),
    "commands on measurements 5 s ahead": Row(
        _observing(5000 * MS), frozenset({C.COMMAND_OBSERVED}), 0.003
    ),
    "commands on measurements 1 s old": Row(
        _observing(-1000 * MS), frozenset({C.COMMAND_OBSERVED}), 0.003
    ),
    "second robot with the key": Row(_second_robot, frozenset({C.ROBOT_RESTARTED}), 0.003),
    "NaN observation": Row(
        _sensing(joint_velocity=_nan(12)), frozenset({C.STATE_NOT_FINITE}), 0.002
    ),
    "NaN acceleration": Row(
        _sensing(acceleration_b=_nan(3)), frozenset({C.STATE_NOT_FINITE}), 0.002
    ),
    "NaN policy output": Row(_nan_policy, frozenset({C.POLICY_NOT_FINITE}), 0.023),
    "policy leaps": Row(_wild_policy, frozenset({C.TARGET_RATE}), 0.023),
    "policy takes 50 ms": Row(_slow_policy, LATE, 0.085, sits=True),
    "IMU frozen": Row(_imu_frozen, frozenset({C.IMU_FROZEN}), 0.023),
    "all sensors frozen": Row(_all_frozen, frozenset({C.IMU_FROZEN, C.STATE_FROZEN}), 0.023),
    "encoder jumps by 1.5 rad": Row(
        _sensing(joint_position=_jump), frozenset({C.ENCODER_JUMP}), 0.002
    ),
    "encoder wobbles by 1.5 rad": Row(
        _sensing(joint_position=_wobble), frozenset({C.ENCODER_JUMP}), 0.003
    ),
    "velocity of a joint wrong by 20 rad/s": Row(
        _sensing(joint_velocity=_runaway_velocity), frozenset({C.VELOCITY_DISAGREES}), 0.03
    ),
    "all positions zero": Row(
        _sensing(joint_position=_zeros(12)), frozenset({C.ENCODER_JUMP}), 0.005
    ),
    "IMU all zero": Row(
        _sensing(angular_velocity_b=_zeros(3), acceleration_b=_zeros(3)),
        frozenset({C.IMU_FROZEN}),
        0.023,
    ),
    "robot's clock 1 s ahead": Row(_sensing(time=lambda s: s.time + 1.0), STALE, 0.023),
    "robot's clock 1 s behind": Row(
        _sensing(time=lambda s: s.time - 1.0), STALE | {C.SENSOR_STALE}, 0.023
    ),
    "motor drops out": Row(
        _sensing(ready=lambda s: np.arange(12) != 4), frozenset({C.MOTOR_NOT_READY}), 0.002
    ),
}
"""Faults of a walking robot; `python -m tests.bench fault_to_damping` prints the delays."""


def named(rig: Rig) -> set[Cause]:
    """Causes that controller and robot reported, without references to each other's fault."""
    found = {
        fault.cause for fault in (rig.controller.fault, rig.process.gate.fault) if fault is not None
    }
    return found - {Cause.ROBOT_FAULT, Cause.OPERATOR_STOP}


def counts(rig: Rig, name: str) -> int:
    """Number of dropped messages on both sides."""
    if name == "dropped":
        return rig.process.dropped
    return sum(getattr(link, name) for link in rig.links)
