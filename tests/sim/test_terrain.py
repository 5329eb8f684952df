"""The ground: heights, random boxes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.sim import Terrain, make_terrain
from solo_doi.solo12.constants import CONTROL_SETUPS, FOOT_RADIUS
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.observation import scan_points
from solo_doi.solo12.rotations import from_rpy


def test_flat_ground_is_at_zero_everywhere() -> None:
    """No boxes, any point."""
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
    """Heights under the scan's points of a robot facing +y.

    The box at y = 0.75 begins 0.25 m ahead, three rows.
    """
    terrain = Terrain(np.array([[[0.0, 0.75]]]), np.array([[[4.0, 1.0, 0.2]]]))
    points = scan_points(np.zeros((1, 3)), from_rpy(0, 0, np.array([np.pi / 2])))
    heights = terrain.height(points).reshape(11, 11)
    expected = np.zeros((11, 11))
    expected[8:] = 0.2
    np.testing.assert_array_equal(heights, expected)


def test_random_boxes_have_dominic_sizes() -> None:
    """Five per robot, sides 0.8 to 2 m, 5 to 24.5 cm high, and no two robots alike."""
    terrain = make_terrain("boxes", 500, np.random.default_rng(0))
    assert terrain.size.shape == (500, 5, 3)
    assert terrain.num_robots == 500
    assert terrain.num_boxes == 5
    sides, height = terrain.size[..., :2], terrain.size[..., 2]
    assert 0.8 <= sides.min() < 0.82
    assert 1.98 < sides.max() <= 2.0
    assert 0.05 <= height.min() < 0.052
    assert 0.243 < height.max() <= 0.245
    assert len(np.unique(terrain.size[:, 0, 0])) == 500


def test_no_random_box_lies_where_a_robot_starts() -> None:
    """However it is turned: 100000 boxes, none within reach of the feet at the origin."""
    terrain = Terrain.random_boxes(20000, np.random.default_rng(1))
    reach = max(
        np.linalg.norm(foot_positions(s.default_pose)[:, :2], axis=1).max()
        for s in CONTROL_SETUPS.values()
    )
    gap = np.maximum(
        np.abs(terrain.centre) - terrain.size[..., :2] / 2, 0
    )  # nearest point of each box
    assert np.linalg.norm(gap, axis=-1).min() > reach + FOOT_RADIUS


def test_random_boxes_repeat_with_their_seed() -> None:
    """A trajectory on boxes is reproduced from its seed."""
    first, same, other = (
        make_terrain("boxes", 3, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first.size, same.size)
    np.testing.assert_array_equal(first.centre, same.centre)
    assert (first.centre != other.centre).all()


def test_named_flat_terrain_is_flat() -> None:
    """The other name that `make_terrain` knows."""
    assert make_terrain("flat", 3, np.random.default_rng(0)).num_boxes == 0


def test_an_unknown_terrain_is_answered_with_the_nearest() -> None:
    """And with all names there are."""
    with pytest.raises(
        UnknownNameError,
        match=r"Unknown terrain 'box'. Did you mean 'boxes'\? Known: boxes, flat\.",
    ):
        make_terrain("box", 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    "size", [[1.0, 1.0, 0.0], [-1.0, 1.0, 0.1], [np.nan, 1.0, 0.1], [np.inf, 1.0, 0.1]]
)
def test_a_box_without_volume_names_box_and_robot(size: list[float]) -> None:
    """Engines accept it and collide with something else."""
    sizes = np.ones((3, 2, 3))
    sizes[2, 1] = size
    with pytest.raises(SoloError, match="Terrain box 1 of robot 2 has"):
        Terrain(np.zeros((3, 2, 2)), sizes)


@pytest.mark.parametrize(
    ("centre", "size"), [((3, 2, 2), (3, 1, 3)), ((3, 2, 3), (3, 2, 3)), ((3, 2, 2), (3, 2, 2))]
)
def test_centres_and_sizes_must_match(centre: tuple[int, ...], size: tuple[int, ...]) -> None:
    """The error says both shapes."""
    with pytest.raises(
        SoloError, match=r"needs centres \(robots, boxes, 2\) and sizes \(robots, boxes, 3\), found"
    ):
        Terrain(np.ones(centre), np.ones(size))
