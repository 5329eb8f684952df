"""Checks of a robot with its motors off: board, packets, encoders, limits, battery."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from deploy.common.robot_constants import DAMPING_GAIN, TICK
from deploy.robots.odri.drivers.motors import SATURATION, driver_of_joint, largest_gains
from deploy.robots.odri.wire.protocol import LIMITS, NUM_DRIVERS
from deploy.robots.process.gate_config import GateConfig
from solo_doi.policies.bundle.contract import Contract
from solo_doi.solo12.constants import JOINT_NAMES

from .check_row import CheckRow, Verdict, judged_row
from .hand_checks import judge_hands
from .imu_checks import judge_imu

GATE = GateConfig()
"""Limits of the robot process; values beyond them would be faults while walking."""
RATE_ERROR = 0.01
"""Largest relative error of the packet rate."""
LOSS_SHARE = 0.001
"""Largest share of lost packets on a dedicated cable."""
LEAST_START_VOLTAGE = 22.0
"""Lowest battery voltage for a start: six cells, one third full; motors are damped at 20 V [V]."""


def judge(
    seen: dict[str, Any], contract: Contract | None, *, simulated_time: bool
) -> Iterator[CheckRow]:
    """Judge the result of an inspection.

    `contract` has the gains of the skills that will walk. With `simulated_time`, packet rate and
    jitter have no meaning and are not judged.
    """
    yield from _judge_drivers(seen)
    has_timing = bool(seen.get("gaps"))
    value = f"{seen['packets']} packets"
    if seen["rejected"]:  # rejected packets are also counted as lost
        value += f", {seen['rejected']} refused"
    failure = seen["failure"]
    yield judged_row(
        "measurements",
        value,
        "to the end",
        f"{failure or 'too few measurements came'}: check cable and power.",
        good=has_timing and not failure,
    )
    if not has_timing:
        return
    yield from _judge_timing(seen, simulated_time=simulated_time)
    yield from _judge_losses(seen)
    if contract is not None:
        yield _judge_limits(seen["protocol"], contract)
    yield _judge_encoders(*seen["jump"])
    yield from judge_imu(seen, GATE)
    yield from judge_hands(seen["hands"])
    yield _judge_battery(seen["voltage"], seen["current"], seen["protocol"])


def _judge_drivers(seen: dict[str, Any]) -> Iterator[CheckRow]:
    yield judged_row(
        "protocol",
        f"{seen['protocol']}, by driver {seen['driver']}",
        "3 or 4",
        "The firmware uses another protocol: use a newer version of this program.",
        good=seen["protocol"] in LIMITS,
    )
    missing = [driver for driver in range(NUM_DRIVERS) if not seen["drivers"] >> driver & 1]
    wrong = [f"driver {driver} ({_joints_of(driver)}) did not answer" for driver in missing]
    for driver, is_on in enumerate(seen.get("system_on", [])):
        if not is_on and driver not in missing:
            wrong.append(f"driver {driver} is off")
    faults = seen.get("faults", [])
    if missing:  # drivers that did not answer are in the list already
        faults = [fault for fault in faults if "no answer" not in fault]
    wrong += faults
    yield judged_row(
        "motor drivers",
        f"{NUM_DRIVERS - len(missing)} answer",
        f"{NUM_DRIVERS}, no errors",
        f"{'; '.join(wrong)}: check power and cables.",
        good=not wrong,
    )


def _judge_timing(seen: dict[str, Any], *, simulated_time: bool) -> Iterator[CheckRow]:
    if simulated_time:
        for name in ("packet rate", "jitter"):
            yield CheckRow(name, "", "", Verdict.NOT_APPLICABLE, "lock-step has no clock")
        return
    rate = seen["sent"] / seen["seconds"]
    yield judged_row(
        "packet rate",
        f"{rate:.1f} Hz",
        f"{1 / TICK:.0f} Hz within {RATE_ERROR:.0%}",
        "The clock of the board or of this computer is wrong, or many packets are lost.",
        good=abs(rate * TICK - 1.0) <= RATE_ERROR,
    )
    median, p99, largest = seen["gaps"]
    yield judged_row(
        "jitter",
        f"p50 {1000 * median:.2f}, p99 {1000 * p99:.2f}, max {1000 * largest:.2f} ms",
        f"<= {1000 * GATE.sensor_age:.0f} ms",
        "This computer is late: stop other programs, allow real-time scheduling, use a PREEMPT_RT "
        "kernel.",
        good=1000 * largest <= 1000 * GATE.sensor_age,
    )


def _judge_losses(seen: dict[str, Any]) -> Iterator[CheckRow]:
    for name, key in (("measurements lost", "lost"), ("commands lost", "commands_lost")):
        yield judged_row(
            name,
            f"{seen[key]} of {seen['sent']}",
            f"<= {LOSS_SHARE:.1%}",
            "Use a direct cable to a network card of its own, without a switch.",
            good=seen[key] <= LOSS_SHARE * seen["sent"],
        )
    yield judged_row(
        "commands confirmed",
        f"{seen['lag']} not confirmed",
        f"<= {GATE.command_lag}",
        "The board accepts no commands: switch it off and on.",
        good=seen["lag"] <= GATE.command_lag,
    )


def _judge_limits(protocol: int, contract: Contract) -> CheckRow:
    """Check that the protocol can carry the gains; protocol 4 carries half of those of 3."""
    largest_kp, largest_kd = largest_gains(protocol)
    largest_current = LIMITS[protocol].saturation
    kp = float(np.max(contract.kp))
    kd = max(float(np.max(contract.kd)), DAMPING_GAIN)
    return judged_row(
        "limits",
        f"kp {kp:.2f}, kd {kd:.2f}, {SATURATION:.1f} A",
        f"kp {largest_kp:.2f}, kd {largest_kd:.2f}, {largest_current:.1f} A",
        "The protocol cannot carry these gains: use a policy with lower gains.",
        good=kp <= largest_kp and kd <= largest_kd and largest_current >= SATURATION,
    )


def _judge_encoders(joint: int, jump: float) -> CheckRow:
    """Check the largest step between two measurements of a robot at rest [rad]."""
    name = JOINT_NAMES[joint]
    return judged_row(
        "encoders at rest",
        f"{name} steps by {jump:.4f} rad",
        f"<= {GATE.encoder_jump} rad",
        f"{name} jumps: keep hands off the robot, and check the encoder and its cable.",
        good=jump <= GATE.encoder_jump,
    )


def _judge_battery(voltage: float, current: float, protocol: int) -> CheckRow:
    limit = f">= {LEAST_START_VOLTAGE} V"
    if np.isnan(voltage):
        advice = f"protocol {protocol} does not report it: measure it"
        return CheckRow("battery", "", limit, Verdict.NOT_APPLICABLE, advice)
    return judged_row(
        "battery",
        f"{voltage:.1f} V, {current:.2f} A",
        limit,
        "Charge it or check the supply.",
        good=voltage >= LEAST_START_VOLTAGE,
    )


def _joints_of(driver: int) -> str:
    names = [name for joint, name in enumerate(JOINT_NAMES) if driver_of_joint(joint) == driver]
    return ", ".join(names)
