"""Contract of every simulator: height scan of the ground around the robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solo_doi.sim import Terrain
from solo_doi.solo12.constants import Array
from solo_doi.solo12.rotations import from_rpy

from .simulators import Make, default_targets, in_the_air

HEIGHT = 0.2


def wall(num_robots: int) -> Terrain:
    """Return a box from x 0.25 to 1.25 m and 4 m wide for each robot, and one out of reach."""
    centre = np.tile([[0.75, 0.0], [50.0, 0.0]], (num_robots, 1, 1))
    return Terrain(centre, np.tile([[1.0, 4.0, HEIGHT], [4.0, 4.0, 0.1]], (num_robots, 1, 1)))


def grid(scan: Array) -> Array:
    """Return scans (N, 11, 11): the first index runs ahead, the second to the left."""
    return scan.reshape(-1, 11, 11)


def test_the_scan_turns_with_the_robot_and_moves_with_it(make: Make, tiny: float) -> None:
    """The wall is ahead, to the right, behind the middle of a robot that faces it from beyond.

    The fourth robot is tilted, which does not change its scan. All move 0.2 m along x.
    """
    simulator = make(num_robots=4, terrain=wall(4))
    motion = replace(
        in_the_air(4),
        base_quaternion=from_rpy(
            np.array([0, 0, 0, 0.4]), np.array([0, 0, 0, -0.3]), np.array([0, 0.5, 1, 0]) * np.pi
        ),
    )
    motion.base_position_w[2, 0] = 1.6
    motion.linear_velocity_b[:3] = [[10.0, 0, 0], [0, -10.0, 0], [-10.0, 0, 0]]
    start = grid(simulator.height_scan(simulator.reset(motion)))
    expected = np.zeros((4, 11, 11))
    expected[0, 8:] = HEIGHT
    expected[1, :, :3] = HEIGHT
    expected[2, 9:] = HEIGHT
    expected[3, 8:] = HEIGHT
    np.testing.assert_allclose(start, expected, atol=tiny)
    later = grid(simulator.height_scan(simulator.step(default_targets(4))))
    expected[0, 6:] = HEIGHT
    expected[1, :, :5] = HEIGHT
    expected[2] = 0.0
    np.testing.assert_allclose(later, expected, atol=tiny)


def test_the_scan_follows_the_ground_of_new_episodes(make: Make, tiny: float) -> None:
    """One robot's wall sinks below a box that is put under it; the other's ground stays."""
    simulator = make(num_robots=2, terrain=wall(2))
    before = simulator.height_scan(simulator.reset(in_the_air(2)))
    changed = wall(1)
    changed.size[:, 0, 2] = 0.05
    changed.centre[:, 1] = 0.0
    simulator.set_terrain(changed, [1])
    after = simulator.height_scan(simulator.reset(in_the_air(1), [1]))
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_allclose(after[1], 0.1, atol=tiny)


def test_flat_ground_has_height_zero(make: Make) -> None:
    """A scan needs no boxes."""
    simulator = make(num_robots=2)
    scan = simulator.height_scan(simulator.state())
    np.testing.assert_array_equal(scan, np.zeros((2, 121)))
