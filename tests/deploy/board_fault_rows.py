"""Fault matrix behind the virtual master board: faults of a walking robot, and their outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from deploy.common.faults import Cause
from deploy.messages.lcm_link import COMMAND_CHANNEL, Message, decode
from deploy.robots.virtual_board.fault_switches import SWITCHES

from .board_world import BoardRig
from .fault_rows import HELD, LATE, ROWS
from .world import Killed


@dataclass(frozen=True)
class BoardRow:
    """A fault, its possible causes, the deadline for damping, and the result of re-arming."""

    inject: Callable[[BoardRig], None]
    causes: frozenset[Cause] = frozenset()
    """Causes that controller or robot may report; empty if the robot must continue to walk."""
    within: float = inf
    """Longest time from the fault until motors are damped or off [s]."""
    rearms: bool | None = False
    """True if the robot moves again once re-armed; False if the board needs a new session.

    None if it depends on the pose in which the damped robot comes to rest.
    """
    sits: bool = False
    """True if the robot lies down; `within` is then the time to the beginning of lying down."""
    bounded: bool = True
    """True if torques stay within the largest that the PC requested."""

    @property
    def survives(self) -> bool:
        """True if the robot must walk to the end."""
        return not self.causes


def _switch(name: str, value: float = 1.0) -> Callable[[BoardRig], None]:
    return lambda rig: SWITCHES[name].act(rig.lock_step, value)


def _cable_out_and_in(rig: BoardRig) -> None:
    SWITCHES["link-down"].act(rig.lock_step, 1)
    rig.later(0.03, lambda: SWITCHES["link-down"].act(rig.lock_step, 0))


def _deaf_board(rig: BoardRig) -> None:
    """Drop all packets to the board: it disarms but keeps sending measurements.

    The vendor's library does not detect this.
    """
    rig.lock_step.to_board.faults.drop = 1.0


def _deaf_pc(rig: BoardRig) -> None:
    rig.lock_step.to_pc.faults.drop = 1.0


def _process_stalls(seconds: float) -> Callable[[BoardRig], None]:
    return lambda rig: rig.stall(seconds)


def _pc_stalls(seconds: float) -> Callable[[BoardRig], None]:
    def inject(rig: BoardRig) -> None:
        rig.stall(seconds)
        rig.clock.sleep(seconds)

    return inject


def _process_killed(rig: BoardRig) -> None:
    rig.alive = False


def _controller_killed(_: BoardRig) -> None:
    raise Killed


def _one_command(change: Callable[[Message], None]) -> Callable[[BoardRig], None]:
    """Replace one good command by a changed one, signed with the right key."""

    def inject(rig: BoardRig) -> None:
        done: list[bool] = []

        def meddle(channel: str, data: bytes) -> list[tuple[int, bytes]]:
            if channel != COMMAND_CHANNEL or done:
                return [(0, data)]
            message = decode(channel, data)
            change(message)
            done.append(True)
            return [(0, rig.links[1].authority.sign(message.encode()))]

        rig.wire.meddle = meddle

    return inject


def _nan_target(command: Message) -> None:
    command.position = [*command.position[:5], float("nan"), *command.position[6:]]


def _ahead(command: Message) -> None:
    """Shift the measurement time ahead; motors would then keep an old target for seconds."""
    command.observed_ns += 5_000_000_000


def _stiff(command: Message) -> None:
    """Set a gain above the range of protocol 4, but below the safe limit."""
    command.kp = 6.0


C = Cause
SILENT = frozenset({C.SENSOR_STALE, C.STATE_STALE})
DISARMED = frozenset(
    {C.BOARD_DISARMED, C.MOTOR_NOT_READY, C.STATE_STALE, C.COMMAND_STALE, C.SENSOR_STALE}
)
SPOILT = frozenset(
    {C.ENCODER_JUMP, C.JOINT_POSITION, C.JOINT_VELOCITY, C.JOINT_TORQUE, C.COMMAND_TORQUE, C.TILT,
    C.MOTOR_NOT_READY,
     C.COMMAND_LAG, C.PACKETS_LOST, C.HARDWARE, C.SENSOR_STALE, C.STATE_STALE, C.VOLTAGE}
)  # fmt: skip
BOARD_ROWS: dict[str, BoardRow] = {
    "board killed": BoardRow(_switch("stall"), SILENT, 0.008),
    "board power-cycled": BoardRow(_switch("power-cycle"), SILENT, 0.002),
    "cable pulled out": BoardRow(_switch("link-down"), SILENT, 0.003),
    "cable out for 30 ms": BoardRow(_cable_out_and_in, SILENT, 0.003),
    "1 % of packets lost": BoardRow(_switch("drop", 0.01)),
    "20 % of packets lost": BoardRow(
        _switch("drop", 0.2), frozenset({C.PACKETS_LOST, C.SENSOR_STALE}), 0.1, rearms=True
    ),
    "all packets doubled": BoardRow(_switch("duplicate")),
    "no packet reaches the board": BoardRow(_deaf_board, frozenset({C.COMMAND_LAG}), 0.023),
    "no packet reaches the PC": BoardRow(_deaf_pc, SILENT, 0.008),
    "packets 20 ms late": BoardRow(_switch("delay", 20), SILENT, 0.03),
    "5 % of packets corrupt": BoardRow(
        _switch("corrupt", 0.05), SPOILT, 0.1, rearms=True, bounded=False
    ),
    "encoder in error": BoardRow(_switch("encoder-error", 7), frozenset({C.HARDWARE}), 0.003),
    "driver dead": BoardRow(_switch("dead-driver", 2), frozenset({C.HARDWARE}), 0.003),
    "IMU frozen": BoardRow(_switch("imu-freeze"), frozenset({C.IMU_FROZEN}), 0.023),
    "battery flat": BoardRow(_switch("battery", 19.0), frozenset({C.VOLTAGE}), 0.503, sits=True),
    "robot process stalls for 40 ms": BoardRow(_process_stalls(0.04), DISARMED, 0.023),
    "robot process stalls for 80 ms": BoardRow(_process_stalls(0.08), DISARMED, 0.023),
    "PC stalls for 40 ms": BoardRow(_pc_stalls(0.04), DISARMED | LATE, 0.023),
    "PC stalls for 80 ms": BoardRow(_pc_stalls(0.08), DISARMED | LATE, 0.023),
    "robot process killed": BoardRow(_process_killed, frozenset({C.STATE_STALE}), 0.023),
    "controller killed": BoardRow(
        _controller_killed, frozenset({C.COMMAND_STALE}), HELD, sits=True
    ),
    "controller frozen for 500 ms": BoardRow(
        ROWS["controller frozen for 500 ms"].inject, LATE, HELD, rearms=None, sits=True
    ),
    "second controller with the key": BoardRow(
        ROWS["second controller with the key"].inject,
        frozenset({C.COMMAND_FOREIGN}),
        0.003,
        rearms=True,
    ),
    "gain beyond the wire": BoardRow(
        _one_command(_stiff), frozenset({C.COMMAND_GAINS}), 0.003, rearms=True
    ),
    "command on a measurement 5 s ahead": BoardRow(
        _one_command(_ahead), frozenset({C.COMMAND_OBSERVED}), 0.003, rearms=True
    ),
    "NaN target": BoardRow(
        _one_command(_nan_target), frozenset({C.COMMAND_NOT_FINITE}), 0.003, rearms=True
    ),
    "commands forged with another key": BoardRow(ROWS["forged with another key"].inject),
    "commands replayed after 5, 30, 300 ms": BoardRow(ROWS["replayed after 5, 30, 300 ms"].inject),
}
"""Faults of a walking robot; `python -m tests.bench board_fault_to_damping` prints the delays."""
