"""Whether a contract's numbers can drive a Solo12: sealed and of the right shapes, they may still be absurd."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP, TRAINING
from solo_doi.solo12.observation import CLIP

from .contract import Contract

LONGEST_STEP = 0.1
"""No policy walks with fewer than ten answers a second [s]."""


def implausible(contract: Contract) -> list[str]:
    """Return the names of the fields with which no robot could be driven."""
    return [name for name, good in _checks(contract) if not good]


def _checks(contract: Contract) -> Iterator[tuple[str, bool]]:
    nominal, least, most = contract.motor_lag
    ticks = contract.control_dt / SENSE_DT  # a whole number: commands leave at this rate
    yield "kp", 0.0 < contract.kp <= LARGEST_KP
    yield "kd", 0.0 <= contract.kd <= LARGEST_KD
    yield "torque_limit", 0.0 < contract.torque_limit <= TRAINING.torque
    yield "action_scale", 0.0 < contract.action_scale <= CLIP
    yield (
        "control_dt",
        SENSE_DT / 2 < contract.control_dt <= LONGEST_STEP and abs(ticks - round(ticks)) < 1e-6,
    )
    yield "motor_lag", 0.0 <= least <= nominal <= most <= LONGEST_STEP
    for name in ("default_pose", "position_limit"):
        values = np.abs(getattr(contract, name))
        yield name, values.shape == (NUM_JOINTS,) and bool((values <= TRAINING.position).all())
    low, high = contract.command_range["low"], contract.command_range["high"]
    inside = all(
        -CLIP <= a <= value <= b <= CLIP
        for a, value, b in zip(low, contract.command, high, strict=True)
    )
    yield "command", inside
    yield "envelope", bool((np.array(contract.envelope["low"]) <= contract.envelope["high"]).all())
    yield "skills", all(map(_is_verdict, contract.skills))


def _is_verdict(entry: dict[str, object]) -> bool:
    """Whether an entry says of one skill what is read of it later."""
    success = entry.get("success", 0.0)
    return (
        type(entry.get("skill")) is int
        and entry.get("selected") in (None, True, False)
        and (success is None or type(success) in (int, float))
    )
