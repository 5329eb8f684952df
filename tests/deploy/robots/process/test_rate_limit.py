"""Rate limit: each movement fills a joint's bucket, which leaks with time."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.robots.process.rate_limit import RateLimit
from solo_doi.solo12.constants import NUM_JOINTS
from tests.deploy.stage import with_joint

ZERO = np.zeros(NUM_JOINTS)


def moved(joint: int, by: float) -> np.ndarray:
    """Return a movement of one joint."""
    return with_joint(ZERO, joint, by)


@pytest.mark.parametrize("joint", [0, 5, 11])
def test_movements_add_up_per_joint(joint: int) -> None:
    """The exact capacity is allowed; beyond it, the joint and its level are returned."""
    limit = RateLimit(1.0, 2.0)
    assert limit.add(moved(joint, 0.5)) is None
    assert limit.add(moved((joint + 1) % NUM_JOINTS, 0.75)) is None
    assert limit.add(moved(joint, 0.5)) is None
    assert limit.add(moved(joint, 0.25)) == (joint, 1.25)


def test_time_makes_room_again() -> None:
    """The bucket leaks at the given rate from the first known time on, and never below empty."""
    limit = RateLimit(1.0, 2.0)
    assert limit.add(moved(3, 1.0)) is None
    limit.leak(8.0)  # the first time: no duration is known yet
    assert limit.add(moved(3, 0.25)) == (3, 1.25)
    limit.leak(8.25)
    assert limit.add(moved(3, 0.25)) is None
    limit.leak(9.0)
    assert limit.add(moved(3, 1.0)) is None  # a long rest does not increase the capacity
    assert limit.add(moved(3, 0.25)) == (3, 1.25)


def test_a_clock_that_goes_back_neither_fills_nor_leaks() -> None:
    """Later times count from there."""
    limit = RateLimit(1.0, 2.0)
    limit.leak(8.0)
    limit.add(moved(3, 1.0))
    limit.leak(7.0)
    assert limit.add(moved(3, 0.25)) == (3, 1.25)
    limit.leak(7.25)
    assert limit.add(moved(3, 0.25)) is None
