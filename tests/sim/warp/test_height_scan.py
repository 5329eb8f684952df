"""Height scan on the device against that of numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.sim import SimConfig, SimulationError, Simulator, Terrain, WarpConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.observation import scan_points
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import Motion, standing

ROBOTS = 200
BOXES = 3
ROUNDING = 1e-5
"""Points this near to the edge of a box may be counted to either side [m]."""


def scattered(rng: np.random.Generator) -> Motion:
    """Return robots in the air, anywhere within 2 m, in any attitude."""
    motion = standing(CONTROL_SETUPS["locomotion"], ROBOTS)
    place = rng.uniform([-2, -2, 3], [2, 2, 4], (ROBOTS, 3))
    rpy = rng.uniform([[-0.6], [-0.6], [-np.pi]], [[0.6], [0.6], [np.pi]], (3, ROBOTS))
    return replace(motion, base_position_w=place, base_quaternion=from_rpy(*rpy))


def some_boxes(rng: np.random.Generator) -> Terrain:
    """Return boxes that overlap here and there."""
    centre = rng.uniform(-2, 2, (ROBOTS, BOXES, 2))
    return Terrain(centre, rng.uniform([0.2, 0.2, 0.05], [2, 2, 0.6], (ROBOTS, BOXES, 3)))


def at_an_edge(terrain: Terrain, points: np.ndarray) -> np.ndarray:
    """Return the points (N, P) that rounding may put to the other side of an edge."""
    offset = np.abs(points[:, :, None] - terrain.centre[:, None])
    return (np.abs(offset - terrain.size[:, None, :, :2] / 2) < ROUNDING).any(axis=(2, 3))


def agree(simulator: Simulator, motion: Motion) -> float:
    """Compare device and numpy at a motion; return the share of points on boxes."""
    terrain = simulator.terrain
    points = scan_points(motion.base_position_w, motion.base_quaternion)
    expected = terrain.height(points)
    clear = ~at_an_edge(terrain, points)
    assert clear.mean() > 0.999
    scan = simulator.height_scan(motion)
    assert scan.dtype == expected.dtype
    np.testing.assert_allclose(scan[clear], expected[clear], atol=1e-6)
    return float((expected > 0).mean())


def test_the_device_finds_the_heights_of_numpy(warp_cpu: WarpConfig) -> None:
    """200 robots at any yaw and tilt, three boxes each: at once, later, and on new ground."""
    rng = np.random.default_rng(5)
    config = SimConfig(num_robots=ROBOTS, warp=warp_cpu)
    with make_simulator("warp", config, some_boxes(rng)) as simulator:
        state = simulator.reset(scattered(rng))
        assert 0.1 < agree(simulator, state) < 0.5
        agree(simulator, simulator.step(state.joint_position))
        centre = rng.uniform(-2, 2, (ROBOTS, BOXES, 2))
        size = simulator.terrain.size.copy()
        size[..., 2] = rng.uniform(0.05, 0.6, (ROBOTS, BOXES))
        some = np.arange(0, ROBOTS, 3)
        simulator.set_terrain(Terrain(centre[some], size[some]), some)
        agree(simulator, simulator.reset(scattered(rng)[some], some))


def test_a_scan_elsewhere_is_refused(warp_cpu: WarpConfig) -> None:
    """The device scans where its robots are; another place would be ignored silently."""
    with make_simulator("warp", SimConfig(num_robots=2, warp=warp_cpu)) as simulator:
        motion = simulator.state()
        motion.base_position_w[1, 0] += 0.1
        with pytest.raises(SimulationError, match=r"of robot 1 was asked for, which is at \[0"):
            simulator.height_scan(motion)
