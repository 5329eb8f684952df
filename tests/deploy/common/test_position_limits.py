"""Joints beyond their limit at power-on: moving back is allowed, moving out is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.common.position_limits import NOISE, RelaxedLimits
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.limits import SAFETY_LIMITS
from tests.deploy.stage import with_joint

LIMIT = np.full(NUM_JOINTS, 1.0)
ZERO = np.zeros(NUM_JOINTS)


def at(joint: int, value: float) -> np.ndarray:
    """Return all joints at zero except for one."""
    return with_joint(ZERO, joint, value)


@pytest.mark.parametrize("sign", [1, -1])
def test_without_a_start_the_limits_are_the_limits(sign: int) -> None:
    """Without widening, limits are exact to the last bit."""
    assert RelaxedLimits(LIMIT).violated_joint(at(3, sign * 1.0)) is None
    assert RelaxedLimits(LIMIT).violated_joint(at(3, sign * np.nextafter(1.0, 2.0))) == 3


def test_joints_found_inside_keep_their_limits() -> None:
    """A joint inside gets no widened limit, even if another joint is outside."""
    limits = RelaxedLimits(LIMIT)
    limits.relax_to(with_joint(at(5, 1.5), 4, 0.999))
    assert limits.violated_joint(with_joint(at(5, 1.5), 4, 1.0)) is None
    assert limits.violated_joint(with_joint(at(5, 1.5), 4, 1.001)) == 4


def test_a_joint_found_at_its_limit_is_inside() -> None:
    """The tolerance for noise applies only to joints that must move back."""
    limits = RelaxedLimits(LIMIT)
    limits.relax_to(at(5, 1.0))
    assert limits.violated_joint(at(5, np.nextafter(1.0, 2.0))) == 5


def test_a_joint_found_outside_may_not_go_further() -> None:
    """The tolerance is the measurement noise of a joint at rest."""
    limits = RelaxedLimits(LIMIT)
    limits.relax_to(at(5, -1.5))
    assert limits.violated_joint(at(5, -1.5 - NOISE)) is None
    assert limits.violated_joint(at(5, -1.5 - NOISE - 1e-9)) == 5


def test_a_joint_that_is_back_inside_has_its_limit_again() -> None:
    """On the way back it may move to and fro, up to its initial angle."""
    limits = RelaxedLimits(LIMIT)
    limits.relax_to(at(5, 1.5))
    assert limits.violated_joint(at(5, 1.25)) is None
    assert limits.violated_joint(at(5, 1.5)) is None
    assert limits.violated_joint(at(5, 1.0)) is None
    assert limits.violated_joint(at(5, 1.001)) == 5
    assert limits.violated_joint(at(5, 0.5)) is None
    assert limits.violated_joint(at(5, 1.0)) is None
    assert limits.violated_joint(at(5, 1.001)) == 5


def test_the_first_joint_outside_is_named() -> None:
    assert RelaxedLimits(LIMIT).violated_joint(with_joint(at(9, 2.0), 2, -3.0)) == 2


@given(
    st.lists(
        st.lists(st.floats(-4, 4), min_size=NUM_JOINTS, max_size=NUM_JOINTS), min_size=1, max_size=8
    )
)
def test_allowances_only_shrink(positions: list[list[float]]) -> None:
    """For any motion, limits stay between the original and the widened ones."""
    limits, start = RelaxedLimits(SAFETY_LIMITS.position), np.array(positions[0])
    limits.relax_to(start)
    found = np.abs(start)
    widest = np.where(found > SAFETY_LIMITS.position, found + NOISE, SAFETY_LIMITS.position)
    for position in map(np.array, positions):
        outside = limits.violated_joint(position)
        if outside is None:
            assert (np.abs(position) <= widest).all()
            widest = np.where(
                np.abs(position) <= SAFETY_LIMITS.position, SAFETY_LIMITS.position, widest
            )
        else:
            assert abs(position[outside]) > SAFETY_LIMITS.position[outside]
            return


def test_the_limit_itself_is_not_changed() -> None:
    """Other modules share the table of limits."""
    before = SAFETY_LIMITS.position.copy()
    limits = RelaxedLimits(SAFETY_LIMITS.position)
    limits.relax_to(np.full(NUM_JOINTS, 3.0))
    limits.violated_joint(ZERO)
    np.testing.assert_array_equal(SAFETY_LIMITS.position, before)
