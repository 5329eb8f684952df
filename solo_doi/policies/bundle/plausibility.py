"""Plausibility of a contract's numbers, beyond their types and shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP, TRAINING_LIMITS
from solo_doi.solo12.observation import CLIP

from .contract import Contract

LONGEST_STEP = 0.1
"""Longest control period and motor lag: policies walk with ten or more actions a second [s]."""


def implausible_fields(contract: Contract) -> list[str]:
    """Return the names of the fields with values that Solo12 cannot be driven with."""
    return [name for name, plausible in _checks(contract) if not plausible]


def _checks(contract: Contract) -> Iterator[tuple[str, bool]]:
    """Yield the name of every checked field, with True if its value is plausible."""
    yield "kp", 0.0 < contract.kp <= LARGEST_KP
    yield "kd", 0.0 <= contract.kd <= LARGEST_KD
    yield "torque_limit", 0.0 < contract.torque_limit <= TRAINING_LIMITS.torque
    yield "action_scale", 0.0 < contract.action_scale <= CLIP
    yield "control_dt", _is_control_period(contract.control_dt)
    nominal, least, most = contract.motor_lag
    yield "motor_lag", 0.0 <= least <= nominal <= most <= LONGEST_STEP
    for name in ("default_pose", "position_limit"):
        values = np.abs(getattr(contract, name))
        yield (
            name,
            values.shape == (NUM_JOINTS,) and bool((values <= TRAINING_LIMITS.position).all()),
        )
    yield "command", _has_command_in_range(contract)
    low = np.array(contract.envelope["low"])
    yield "envelope", bool((low <= contract.envelope["high"]).all())
    yield "skills", all(map(_is_verdict, contract.skills))


def _is_control_period(period: float) -> bool:
    """Return True for a whole number of sensor periods: commands leave at that rate."""
    ticks = period / SENSE_DT
    return SENSE_DT / 2 < period <= LONGEST_STEP and abs(ticks - round(ticks)) < 1e-6


def _has_command_in_range(contract: Contract) -> bool:
    ends = contract.command_range
    for low, value, high in zip(ends["low"], contract.command, ends["high"], strict=True):
        if not -CLIP <= low <= value <= high <= CLIP:
            return False
    return True


def _is_verdict(entry: dict[str, object]) -> bool:
    """Return True if an entry has the fields of a skill's evaluation that the deployment reads."""
    success = entry.get("success", 0.0)
    return (
        type(entry.get("skill")) is int
        and entry.get("selected") in (None, True, False)
        and (success is None or type(success) in (int, float))
    )
