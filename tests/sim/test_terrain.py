"""The ground: heights, random boxes, and invalid terrains."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Terrain
from solo_doi.solo12.observation import scan_points
from solo_doi.solo12.rotations import from_rpy


def test_flat_ground_is_at_zero_everywhere() -> None:
    points = np.random.default_rng(0).uniform(-10, 10, (3, 50, 2))
    np.testing.assert_array_equal(Terrain.flat(3).height(points), np.zeros((3, 50)))


def test_height_is_that_of_the_box_below() -> None:
    """Robot 0 has a box from x 0.5 to 1.5 and y -1 to 1, 0.2 high; robot 1 has it elsewhere."""
    terrain = Terrain(
        np.array([[[1.0, 0.0]], [[-3.0, 0.0]]]), np.array([[[1.0, 2.0, 0.2]], [[1.0, 2.0, 0.1]]])
    )
    points = np.array([[1.0, 0.0], [0.51, 0.99], [0.49, 0.0], [1.0, 1.01], [-3.0, 0.5]])
    heights = terrain.height(np.stack([points, points]))
    np.testing.assert_array_equal(heights, [[0.2, 0.2, 0, 0, 0], [0, 0, 0, 0, 0.1]])


def test_the_higher_of_overlapping_boxes_counts() -> None:
    """Feet stand on the highest of overlapping boxes."""
    terrain = Terrain(np.zeros((1, 2, 2)), np.array([[[1.0, 1.0, 0.2], [3.0, 3.0, 0.1]]]))
    np.testing.assert_array_equal(
        terrain.height(np.array([[[0, 0], [1.0, 0], [2.0, 0]]])), [[0.2, 0.1, 0]]
    )


def test_scan_sees_a_box_ahead() -> None:
    """The robot faces +y; its scan has the heights under its points.

    The box at y = 0.75 begins 0.25 m ahead, three rows.
    """
    terrain = Terrain(np.array([[[0.0, 0.75]]]), np.array([[[4.0, 1.0, 0.2]]]))
    points = scan_points(np.zeros((1, 3)), from_rpy(0, 0, np.array([np.pi / 2])))
    heights = terrain.height(points).reshape(11, 11)
    expected = np.zeros((11, 11))
    expected[8:] = 0.2
    np.testing.assert_array_equal(heights, expected)


@pytest.mark.parametrize(
    "size", [[1.0, 1.0, 0.0], [-1.0, 1.0, 0.1], [np.nan, 1.0, 0.1], [np.inf, 1.0, 0.1]]
)
def test_a_box_without_volume_names_box_and_robot(size: list[float]) -> None:
    """Engines accept it and collide with another shape."""
    sizes = np.ones((3, 2, 3))
    sizes[2, 1] = size
    with pytest.raises(SoloError, match="Terrain box 1 of robot 2 has"):
        Terrain(np.zeros((3, 2, 2)), sizes)


@pytest.mark.parametrize(
    ("centre", "size"), [((3, 2, 2), (3, 1, 3)), ((3, 2, 3), (3, 2, 3)), ((3, 2, 2), (3, 2, 2))]
)
def test_centres_and_sizes_must_match(centre: tuple[int, ...], size: tuple[int, ...]) -> None:
    """The error contains both shapes."""
    with pytest.raises(
        SoloError, match=r"needs centres \(robots, boxes, 2\) and sizes \(robots, boxes, 3\), found"
    ):
        Terrain(np.ones(centre), np.ones(size))


def test_solids_reach_below_the_ground() -> None:
    """The top of a solid is at the height of its box; the solid is 1 m high."""
    terrain = Terrain(np.array([[[1.0, 2.0]]]), np.array([[[0.5, 0.6, 0.2]]]))
    np.testing.assert_allclose(terrain.solid_size, [[[0.5, 0.6, 1.0]]])
    np.testing.assert_allclose(terrain.solid_centre, [[[1.0, 2.0, -0.3]]])


def test_a_box_higher_than_its_solid_is_refused() -> None:
    with pytest.raises(SoloError, match=r"box 0 of robot 1 is 1.2 m high: expected at most 1 m"):
        Terrain(np.zeros((2, 1, 2)), np.array([[[1.0, 1.0, 0.1]], [[1.0, 1.0, 1.2]]]))
