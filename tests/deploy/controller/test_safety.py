"""The controller's checks: no fault at each threshold, a fault with joint and number above."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import acos, inf, isnan, nan
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.safety_config import SafetyConfig
from deploy.controller.safety import Safety
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.limits import SAFETY_LIMITS
from solo_doi.solo12.rotations import from_rpy, projected_gravity
from tests.deploy.stage import sensors, with_joint

CONFIG = SafetyConfig()
ZERO = np.zeros(NUM_JOINTS)


def estimate(roll: float = 0.0, pitch: float = 0.0) -> Estimate:
    """Return the estimate of a tilted robot at rest."""
    return Estimate(
        projected_gravity(from_rpy(roll, pitch, 0.3)), np.zeros(3), np.zeros(3), np.ones(4)
    )


def powered(**changes: Any) -> Safety:  # any field of the configuration
    """Return the checks of a robot that was switched on well inside its limits."""
    safety = Safety(replace(CONFIG, **changes))
    safety.on_power(sensors(joint_position=ZERO))
    return safety


def moving(
    safety: Safety, time: float = 1.0, believed: Estimate | None = None, **changes: Any
) -> Fault | None:
    """Check a state of a robot with joints in the middle."""
    return safety.check_motion(
        sensors(time, **({"joint_position": ZERO} | changes)), believed or estimate()
    )


def test_thresholds_are_these() -> None:
    """The thresholds are repeated here, because a change alters safety and documentation."""
    assert asdict(CONFIG) == {
        "tilt": 1.0, "tilt_disagreement": 0.35, "torque_step": 2.0, "target_step": 1.5,
        "envelope": 1.5,
        "patience": 0.1, "state_age": 0.010, "frozen": 0.020, "bad_share": 20, "gap_share": 35,
        "operator_age": 0.5,
    }  # fmt: skip


# --- Joints --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_limits_of_every_joint(joint: int, sign: int) -> None:
    """At the limit there is no fault; beyond it the fault has the joint and its value."""
    cases = [
        ("joint_position", SAFETY_LIMITS.position[joint], Cause.JOINT_POSITION),
        ("joint_velocity", SAFETY_LIMITS.velocity, Cause.JOINT_VELOCITY),
        ("joint_torque", SAFETY_LIMITS.torque, Cause.JOINT_TORQUE),
    ]
    for name, limit, cause in cases:
        assert moving(powered(), **{name: with_joint(ZERO, joint, sign * limit)}) is None
        beyond = sign * np.nextafter(limit, inf)
        fault = moving(powered(), **{name: with_joint(ZERO, joint, beyond)})
        assert fault == Fault(cause, beyond, joint)
        assert JOINT_NAMES[joint] in str(fault)


@pytest.mark.parametrize("name", ["joint_velocity", "joint_torque"])
def test_the_joint_beyond_is_named_not_one_at_its_limit(name: str) -> None:
    """The fault names the joint that is beyond its limit."""
    limit, cause = {
        "joint_velocity": (SAFETY_LIMITS.velocity, Cause.JOINT_VELOCITY),
        "joint_torque": (SAFETY_LIMITS.torque, Cause.JOINT_TORQUE),
    }[name]  # fmt: skip
    values = with_joint(with_joint(ZERO, 2, limit), 5, limit + 0.5)
    assert moving(powered(), **{name: values}) == Fault(cause, limit + 0.5, 5)


def test_a_joint_found_outside_may_come_back() -> None:
    """A robot on its belly has folded knees; moving back is allowed, moving out is not."""
    start = SAFETY_LIMITS.position[2] + 0.1
    safety = Safety(CONFIG)
    safety.on_power(sensors(joint_position=with_joint(ZERO, 2, start)))
    assert moving(safety, joint_position=with_joint(ZERO, 2, start + 0.015)) is None
    assert moving(safety, joint_position=with_joint(ZERO, 2, 1.0)) is None
    fault = moving(safety, joint_position=with_joint(ZERO, 2, start))
    assert fault == Fault(Cause.JOINT_POSITION, start, 2)


def chatter(safety: Safety, ticks: int, step: float, joint: int = 7) -> list[Fault | None]:
    """Check states with a torque that jumps in every tick."""
    torques = [with_joint(ZERO, joint, (k % 2 - 0.5) * step) for k in range(ticks)]
    return [moving(safety, 1.0 + k / 1000, joint_torque=torque) for k, torque in enumerate(torques)]


def test_torque_may_jump_but_not_chatter() -> None:
    """Jumps at the threshold never count; larger ones are accepted twenty times per 100 ticks."""
    assert chatter(powered(), 300, CONFIG.torque_step) == [None] * 300
    found = chatter(powered(), 22, 2.25)  # 21 jumps between 22 states
    assert found[:21] == [None] * 21
    assert found[21] == Fault(Cause.TORQUE_RATE, 2.25, 7)


def test_the_first_torque_after_switching_on_is_no_jump() -> None:
    """Damped motors had no torque, and holding motors have it at once."""
    safety = powered(bad_share=0)
    assert moving(safety, joint_torque=with_joint(ZERO, 1, 2.5)) is None
    safety.on_power(sensors(joint_position=ZERO))
    assert moving(safety, joint_torque=with_joint(ZERO, 1, -2.5)) is None


def test_chatter_before_a_fault_is_forgotten_on_switching_on() -> None:
    """Otherwise a re-armed robot would be damped again at once."""
    safety = powered()
    assert chatter(safety, 30, 2.25)[-1] is not None
    safety.on_power(sensors(joint_position=ZERO))
    assert chatter(safety, 21, 2.25) == [None] * 21


# --- Attitude ------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["roll", "pitch"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_tilted_base_is_a_fault(axis: str, sign: int) -> None:
    """This holds for every direction; the value is the angle to level."""
    tilted = estimate(**{axis: sign * (CONFIG.tilt - 1e-6)})
    assert moving(powered(tilt_disagreement=9.0), believed=tilted) is None
    fault = moving(powered(), believed=estimate(**{axis: sign * (CONFIG.tilt + 1e-6)}))
    assert fault is not None
    assert (fault.cause, fault.joint) == (Cause.TILT, -1)
    assert fault.value == pytest.approx(CONFIG.tilt + 1e-6, abs=1e-9)


def test_an_upturned_robot_is_tilted() -> None:
    """The tilt is half a turn; rounding may make the cosine larger than 1."""
    upturned = replace(estimate(), gravity_b=np.array([0.0, 0.0, 1.0 + 1e-9]))
    assert moving(powered(), believed=upturned) == Fault(Cause.TILT, np.pi)


def test_a_level_robot_is_not_tilted() -> None:
    """Rounding may make the cosine larger than 1."""
    level = replace(estimate(), gravity_b=np.array([0.0, 0.0, -1.0 - 1e-9]))
    assert moving(powered(), believed=level) is None


def test_at_the_limit_the_base_may_be_tilted() -> None:
    """The limit is exact to the last bit; the cosine of this angle has no rounding error."""
    tilted = replace(estimate(), gravity_b=np.array([0.0, np.sqrt(0.75), -0.5]))
    assert moving(powered(tilt=acos(0.5), tilt_disagreement=9.0), believed=tilted) is None
    assert moving(powered(tilt=np.nextafter(acos(0.5), 0.0)), believed=tilted) == Fault(
        Cause.TILT, acos(0.5)
    )


def test_an_unknown_tilt_is_a_fault() -> None:
    """NaN is not larger than the limit, but is still a fault with the value NaN."""
    fault = moving(powered(), believed=replace(estimate(), gravity_b=np.full(3, nan)))
    assert fault is not None
    assert fault.cause is Cause.TILT
    assert isnan(fault.value)


def test_imu_and_estimator_may_disagree_for_a_moment() -> None:
    """After the grace period the disagreement is a fault."""
    safety, believed = powered(patience=0.125), estimate(pitch=0.36)
    found = [moving(safety, 1.0 + k / 64, believed) for k in range(9)]
    assert found[:8] == [None] * 8
    assert found[8] is not None
    assert found[8].cause is Cause.ATTITUDE_DISAGREES
    assert found[8].value == pytest.approx(0.36)
    agreeing = powered(patience=0.0)
    assert moving(agreeing, believed=estimate(pitch=0.3499)) is None
    assert moving(agreeing, believed=estimate(pitch=0.3501)) is not None


@pytest.mark.parametrize("seed", range(5))
def test_disagreement_is_the_angle_between_both_directions_of_gravity(seed: int) -> None:
    """This holds for any attitudes of IMU and estimator.

    Yaw is not observable and does not count.
    """
    shown, believed = np.random.default_rng(seed).uniform(-0.7, 0.7, (2, 3))
    gravity = estimate(*believed[:2]).gravity_b
    angle = acos(projected_gravity(from_rpy(*shown)) @ gravity)
    state = {"quaternion": from_rpy(*shown), "believed": estimate(*believed[:2])}
    fault = moving(powered(patience=0.0, tilt_disagreement=0.0), **state)
    assert fault is not None
    assert (fault.cause, fault.value) == (Cause.ATTITUDE_DISAGREES, pytest.approx(angle))
    assert (
        moving(powered(patience=0.0, tilt_disagreement=fault.value), **state) is None
    )  # the limit itself is accepted


def test_a_disagreement_before_a_fault_is_forgotten_on_switching_on() -> None:
    """Otherwise its timer would continue between two walks."""
    safety, believed = powered(), estimate(pitch=0.5)
    assert moving(safety, 1.0, believed) is None
    safety.on_power(sensors(joint_position=ZERO))
    assert moving(safety, 9.0, believed) is None
    assert moving(safety, 9.2, believed) is not None


# --- Policy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_an_answer_that_is_not_finite_is_a_fault(number: float) -> None:
    """The fault comes at once."""
    fault = Safety(CONFIG).check_policy(with_joint(ZERO, 5, number), ZERO, 0.0, 1.0)
    assert fault == Fault(Cause.POLICY_NOT_FINITE)


def test_a_target_that_jumps_is_a_fault() -> None:
    """The step counts from the previous target; the fault names the joint with the largest step."""
    before = np.full(NUM_JOINTS, 0.25)
    assert Safety(CONFIG).check_policy(with_joint(before, 4, 1.75), before, 0.0, 1.0) is None
    target = with_joint(with_joint(before, 4, 1.875), 9, -2.0)
    assert Safety(CONFIG).check_policy(target, before, 0.0, 1.0) == Fault(
        Cause.TARGET_RATE, 2.25, 9
    )


def test_a_policy_may_see_the_unknown_for_a_moment() -> None:
    """Up to 1.5 times the range is always accepted, more only for the grace period."""
    safety = Safety(replace(CONFIG, patience=0.125))
    assert all(safety.check_policy(ZERO, ZERO, 1.5, float(k)) is None for k in range(100))
    found = [safety.check_policy(ZERO, ZERO, 1.6, 200 + k / 64) for k in range(9)]
    assert found == [None] * 8 + [Fault(Cause.OUT_OF_ENVELOPE, 1.6)]


def test_an_unknown_envelope_counts_as_left() -> None:
    """NaN does not count as inside."""
    fault = Safety(replace(CONFIG, patience=0.0)).check_policy(ZERO, ZERO, nan, 1.0)
    assert fault is not None
    assert fault.cause is Cause.OUT_OF_ENVELOPE


def test_a_new_walk_resets_the_envelope_timer() -> None:
    """A walk that ended outside its range does not end the next one at its first step."""
    safety = Safety(CONFIG)
    assert safety.check_policy(ZERO, ZERO, 2.0, 1.0) is None
    safety.on_policy()
    assert safety.check_policy(ZERO, ZERO, 2.0, 5.0) is None
    assert safety.check_policy(ZERO, ZERO, 2.0, 5.2) is not None
