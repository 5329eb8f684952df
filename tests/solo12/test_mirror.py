"""Mirror images of observations and actions."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.solo12.constants import CONTROL_SETUPS, JOINT_NAMES
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.mirror import mirrored_joints, mirrored_layout
from solo_doi.solo12.observation import LAYOUTS, scan_points


def test_feet_of_mirrored_joints_are_mirrored() -> None:
    """Left and right feet exchange their places, with y negated."""
    joints = (
        np.random.default_rng(0).uniform(-0.5, 0.5, 12) + CONTROL_SETUPS["locomotion"].default_pose
    )
    place, sign = mirrored_joints()
    feet = foot_positions(joints)
    image = foot_positions(sign * joints[place])
    np.testing.assert_allclose(image[[1, 0, 3, 2]], feet * [1, -1, 1], atol=1e-12)
    assert [JOINT_NAMES[index] for index in place[:3]] == ["FR_HAA", "FR_HFE", "FR_KFE"]


@pytest.mark.parametrize("task", LAYOUTS)
def test_mirroring_twice_changes_nothing(task: str) -> None:
    layout = LAYOUTS[task]
    place, sign = mirrored_layout(layout)
    values = np.random.default_rng(0).normal(size=layout.size)
    image = sign * values[place]
    assert (image != values).any()
    np.testing.assert_allclose(sign * image[place], values)


def test_the_scan_is_mirrored_at_the_robots_x_axis() -> None:
    """The place of each point is that of the point with negated y."""
    layout = LAYOUTS["navigation"]
    place, _ = mirrored_layout(layout)
    part = layout.slices["height_scan"]
    points = scan_points(np.zeros(3), np.array([1.0, 0, 0, 0]))
    image = points[place[part] - part.start]
    np.testing.assert_allclose(image, points * [1, -1], atol=1e-12)
