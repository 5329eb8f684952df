"""The preflight's rows: what was measured of a robot with its motors off, its limit, and go or no-go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from deploy.common.robot_constants import DAMPING, TICK
from deploy.robots.odri.drivers.motors import SATURATION, driver_of_joint, largest_gains
from deploy.robots.odri.wire.protocol import LIMITS, NUM_DRIVERS
from deploy.robots.process.gate import GateConfig
from solo_doi.policies.bundle.contract import Contract
from solo_doi.solo12.constants import GRAVITY, JOINT_NAMES, NUM_JOINTS

GATE = GateConfig()
RATE_ERROR = 0.01
"""Largest share by which the packets' rate may be off."""
LOSS = 0.001
"""Largest share of packets that may be lost on a cable of its own."""
VOLTAGE = 22.0
"""Least to start with: six cells, a third full; walking ends at 20 V [V]."""
GRAVITY_ERROR, TURN_RATE = 0.5, 0.1
"""Of an IMU that rests [m/s^2], [rad/s]."""
TILT, DISAGREEMENT = 0.35, 0.1
"""Of a robot that hangs or lies level, and between accelerometer and filter [rad]."""
NOSE = 0.1
"""Turn that shows which way the nose went [rad]."""


class Verdict(Enum):
    """What a row says."""

    GO = "GO"
    NO_GO = "NO-GO"
    NOT_CHECKED = "not checked"
    NOT_APPLICABLE = "not applicable"
    """Means nothing for this robot; keeps nobody from going."""


@dataclass(frozen=True)
class Row:
    """One check."""

    name: str
    value: str
    limit: str
    verdict: Verdict
    advice: str = ""
    """Why not, and what to do; or a note."""


def row(name: str, value: str, limit: str, advice: str, *, good: bool) -> Row:
    """Return a row that goes, or does not and says why."""
    return Row(name, value, limit, Verdict.GO if good else Verdict.NO_GO, "" if good else advice)


def judge(
    seen: dict[str, Any], contract: Contract | None, *, simulated_time: bool
) -> Iterator[Row]:
    """Judge what an inspection has seen; gains are those of the skills that shall walk."""
    yield from _board(seen)
    counted, silent = bool(seen.get("gaps")), seen["failure"]
    advice = f"{silent or 'too few measurements came'}: check cable and power."
    refused = (
        f", {seen['rejected']} refused" if seen["rejected"] else ""
    )  # what this cost is among the lost
    yield row(
        "measurements",
        f"{seen['packets']} packets{refused}",
        "to the end",
        advice,
        good=counted and not silent,
    )
    if not counted:
        return
    yield from _timing(seen, simulated_time=simulated_time)
    yield from _limits(seen, contract)
    jump, size = seen["jump"]
    yield row(
        "encoders at rest", f"{JOINT_NAMES[jump]} steps by {size:.4f} rad", f"<= {GATE.encoder_jump} rad",
        f"{JOINT_NAMES[jump]} jumps: check its encoder and cable, and that nobody moves the robot.",
        good=size <= GATE.encoder_jump,
    )  # fmt: skip
    yield from _imu(seen)
    yield from _hands(seen["hands"])
    yield _battery(seen["voltage"], seen["current"], seen["protocol"])


def _board(seen: dict[str, Any]) -> Iterator[Row]:
    yield row(
        "protocol", f"{seen['protocol']}, by driver {seen['driver']}", "3 or 4",
        "The firmware speaks something else: use a newer version of this program.", good=seen["protocol"] in LIMITS,
    )  # fmt: skip
    missing = [driver for driver in range(NUM_DRIVERS) if not seen["drivers"] >> driver & 1]
    silent = [f"driver {driver} ({_joints_of(driver)}) did not answer" for driver in missing]
    off = [
        f"driver {n} is off"
        for n, on in enumerate(seen.get("system_on", []))
        if not on and n not in missing
    ]
    wrong = [
        *silent,
        *off,
        *(fault for fault in seen.get("faults", []) if "no answer" not in fault or not silent),
    ]
    yield row(
        "motor drivers", f"{NUM_DRIVERS - len(missing)} answer", f"{NUM_DRIVERS}, no errors",
        f"{'; '.join(wrong)}: check power and cables.", good=not wrong,
    )  # fmt: skip


def _timing(seen: dict[str, Any], *, simulated_time: bool) -> Iterator[Row]:
    rate = seen["sent"] / seen["seconds"]
    middle, most, largest = (1000 * gap for gap in seen["gaps"])
    if simulated_time:
        yield Row("packet rate", "", "", Verdict.NOT_APPLICABLE, "lock-step has no clock")
        yield Row("jitter", "", "", Verdict.NOT_APPLICABLE, "lock-step has no clock")
    else:
        yield row(
            "packet rate", f"{rate:.1f} Hz", f"{1 / TICK:.0f} Hz within {RATE_ERROR:.0%}",
            "The board's clock or this machine's is wrong, or many packets are lost.",
            good=abs(rate * TICK - 1.0) <= RATE_ERROR,
        )  # fmt: skip
        yield row(
            "jitter", f"p50 {middle:.2f}, p99 {most:.2f}, max {largest:.2f} ms", f"<= {1000 * GATE.sensor_age:.0f} ms",
            "This machine is late: stop other programs, allow real-time scheduling, use a PREEMPT_RT kernel.",
            good=largest <= 1000 * GATE.sensor_age,
        )  # fmt: skip
    for name, lost in (
        ("measurements lost", seen["lost"]),
        ("commands lost", seen["commands_lost"]),
    ):
        yield row(
            name, f"{lost} of {seen['sent']}", f"<= {LOSS:.1%}", "Use a cable and a card of its own, no switch.",
            good=lost <= LOSS * seen["sent"],
        )  # fmt: skip
    yield row(
        "commands confirmed", f"{seen['lag']} behind", f"<= {GATE.command_lag}",
        "The board takes no commands: switch it off and on.", good=seen["lag"] <= GATE.command_lag,
    )  # fmt: skip


def _limits(seen: dict[str, Any], contract: Contract | None) -> Iterator[Row]:
    """Whether the wire can carry what the skills ask for; firmware of protocol 4 takes only half the gains of 3."""
    if contract is None:
        return
    kp, kd = largest_gains(seen["protocol"])
    current = LIMITS[seen["protocol"]].saturation
    wanted = max(float(np.max(contract.kd)), DAMPING)
    yield row(
        "limits", f"kp {np.max(contract.kp):.2f}, kd {wanted:.2f}, {SATURATION:.1f} A",
        f"kp {kp:.2f}, kd {kd:.2f}, {current:.1f} A", "The protocol cannot carry that: use a policy with lower gains.",
        good=bool(np.max(contract.kp) <= kp and wanted <= kd and current >= SATURATION),
    )  # fmt: skip


def _imu(seen: dict[str, Any]) -> Iterator[Row]:
    acceleration, turning = np.array(seen["acceleration"]), float(np.linalg.norm(seen["gyroscope"]))
    size = float(np.linalg.norm(acceleration))
    frozen = seen["imu_same"] * TICK > GATE.imu_frozen
    yield row(
        "IMU at rest", f"{size:.2f} m/s², {turning:.3f} rad/s{', frozen' if frozen else ''}",
        f"{GRAVITY} within {GRAVITY_ERROR}, <= {TURN_RATE}, changing",
        "It sends the same numbers: it is dead, check its cable." if frozen else "Let the robot rest; check the IMU.",
        good=not frozen and abs(size - GRAVITY) <= GRAVITY_ERROR and turning <= TURN_RATE,
    )  # fmt: skip
    felt = float(np.arccos(np.clip(acceleration[2] / max(size, 1e-9), -1.0, 1.0)))
    roll, pitch, _ = seen["attitude"]
    up = np.array(
        [-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)]
    )  # by the filter
    apart = float(np.arccos(np.clip(up @ acceleration / max(size, 1e-9), -1.0, 1.0)))
    yield row(
        "IMU level", f"{felt:.2f} rad tilted, filter {apart:.2f} apart", f"<= {TILT}, <= {DISAGREEMENT} rad",
        "Level the robot. If it is level, the IMU is upside down or turned: its axes must be those of the base.",
        good=felt <= TILT and apart <= DISAGREEMENT,
    )  # fmt: skip


def _hands(hands: dict[str, Any] | None) -> Iterator[Row]:
    names = ("joint order", "joint signs", "IMU nose up")
    if hands is None:
        for name in names:
            yield Row(name, "", "", Verdict.NOT_CHECKED, "nobody was asked (--yes)")
        return
    answers = hands["answers"]
    swapped = [
        f"{JOINT_NAMES[asked]} was asked for, {'nothing' if moved is None else JOINT_NAMES[moved]} moved"
        for asked, moved, _ in answers
        if moved != asked
    ]
    flipped = [JOINT_NAMES[asked] for asked, moved, angle in answers if moved is None or angle < 0]
    good = len(answers) - len(swapped)
    again = "Repeat; if it was turned as told, motors are plugged in the wrong place: check drivers and cables"
    yield row("joint order", f"{good} of {NUM_JOINTS} as named", f"{NUM_JOINTS}", f"{'; '.join(swapped)}. {again}.",
              good=good == NUM_JOINTS)  # fmt: skip
    yield row(
        "joint signs", f"{len(answers) - len(flipped)} of {NUM_JOINTS} as told", f"{NUM_JOINTS}",
        f"{', '.join(flipped) or 'Some'} turned the other way or not at all. {again}, and the motor's phases.",
        good=len(answers) - len(flipped) == NUM_JOINTS,
    )  # fmt: skip
    nose = hands["nose"]
    if nose is None:
        yield row(
            names[2],
            "not lifted",
            f"<= -{NOSE} rad",
            "Nobody lifted the nose in time: repeat.",
            good=False,
        )
        return
    yield row(
        names[2], f"pitch {nose['accelerometer']:+.2f}, filter {nose['filter']:+.2f} rad", f"<= -{NOSE} rad, both",
        "The IMU is turned about the vertical, or the tail was lifted: its x axis must point to the front.",
        good=max(nose.values()) <= -NOSE,
    )  # fmt: skip


def _battery(voltage: float, current: float, protocol: int) -> Row:
    if np.isnan(voltage):
        return Row(
            "battery",
            "",
            f">= {VOLTAGE} V",
            Verdict.NOT_APPLICABLE,
            f"protocol {protocol} does not tell: measure it",
        )
    return row(
        "battery", f"{voltage:.1f} V, {current:.2f} A", f">= {VOLTAGE} V", "Charge it or check the supply.",
        good=voltage >= VOLTAGE,
    )  # fmt: skip


def _joints_of(driver: int) -> str:
    return ", ".join(
        name for joint, name in enumerate(JOINT_NAMES) if driver_of_joint(joint) == driver
    )
