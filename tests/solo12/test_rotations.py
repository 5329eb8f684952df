"""One quaternion convention: (w, x, y, z), base to world."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from solo_doi.solo12.constants import Array
from solo_doi.solo12.rotations import (
    IDENTITY,
    conjugate,
    cross,
    from_rpy,
    from_xyzw,
    multiply,
    projected_gravity,
    rotate,
    rotate_inverse,
    to_rpy,
    to_xyzw,
)

vectors = arrays(np.float64, 3, elements=st.floats(-10, 10))
quaternions = (
    arrays(np.float64, 4, elements=st.floats(-1, 1))
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(lambda q: q / np.linalg.norm(q))
)
angles = st.floats(-np.pi + 1e-6, np.pi - 1e-6)
pitches = st.floats(-1.5, 1.5)  # roll and yaw are ambiguous at a quarter turn


def matrix(quaternion: Array) -> Array:
    """Return the textbook rotation matrix of a unit quaternion, independent of `rotate`."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.parametrize(
    ("rpy", "vector_b", "vector_w"),
    [
        ((0, 0, np.pi / 2), (1, 0, 0), (0, 1, 0)),  # turned left, forward is the world's y
        ((0, np.pi / 2, 0), (1, 0, 0), (0, 0, -1)),  # positive pitch: nose down
        ((np.pi / 2, 0, 0), (0, 1, 0), (0, 0, 1)),  # positive roll: left side up
    ],
    ids=["yaw", "pitch", "roll"],
)
def test_positive_angles_turn_the_right_way(
    rpy: tuple[float, float, float], vector_b: tuple[float, ...], vector_w: tuple[float, ...]
) -> None:
    """The signs of all other functions follow from these three."""
    np.testing.assert_allclose(
        rotate(from_rpy(*rpy), np.array(vector_b, float)), vector_w, atol=1e-12
    )


def test_scalar_comes_first() -> None:
    """A half turn about z is (0, 0, 0, 1) here and in PyBullet's order (0, 0, 1, 0)."""
    half_turn = from_rpy(0, 0, np.pi)
    np.testing.assert_allclose(half_turn, [0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(to_xyzw(half_turn), [0, 0, 1, 0], atol=1e-12)


def test_order_of_turns_is_roll_then_pitch_then_yaw() -> None:
    """Turned left after pitching nose down, forward still points down.

    The other order gives the world's y.
    """
    np.testing.assert_allclose(
        rotate(from_rpy(0, np.pi / 2, np.pi / 2), np.array([1.0, 0, 0])), [0, 0, -1], atol=1e-12
    )


@given(quaternion=quaternions, vector=vectors)
def test_rotating_equals_the_rotation_matrix(quaternion: Array, vector: Array) -> None:
    """The reference is the textbook matrix."""
    np.testing.assert_allclose(rotate(quaternion, vector), matrix(quaternion) @ vector, atol=1e-12)


@given(quaternion=quaternions, vector=vectors)
def test_rotating_back_gives_the_vector(quaternion: Array, vector: Array) -> None:
    """The vector is rotated from base to world and back."""
    np.testing.assert_allclose(
        rotate_inverse(quaternion, rotate(quaternion, vector)), vector, atol=1e-12
    )


@given(first=quaternions, second=quaternions, vector=vectors)
def test_product_is_the_right_factor_first(first: Array, second: Array, vector: Array) -> None:
    """multiply(a, b) rotates by b, then by a."""
    expected = rotate(second, rotate(first, vector))
    np.testing.assert_allclose(rotate(multiply(second, first), vector), expected, atol=1e-11)


@given(quaternion=quaternions)
def test_conjugate_is_the_inverse(quaternion: Array) -> None:
    """A rotation times its inverse is the identity."""
    np.testing.assert_allclose(multiply(quaternion, conjugate(quaternion)), IDENTITY, atol=1e-12)


@given(roll=angles, pitch=pitches, yaw=angles)
def test_angles_survive_the_round_trip(roll: float, pitch: float, yaw: float) -> None:
    """The yaw of the height scan equals the given yaw."""
    np.testing.assert_allclose(to_rpy(from_rpy(roll, pitch, yaw)), (roll, pitch, yaw), atol=1e-7)


@given(quaternion=quaternions)
def test_a_quaternion_and_its_negative_have_the_same_angles(quaternion: Array) -> None:
    """Both describe the same attitude; engines may return either sign."""
    roll, pitch, yaw = to_rpy(quaternion)
    assert -np.pi <= roll <= np.pi
    assert -np.pi / 2 <= pitch <= np.pi / 2
    assert -np.pi <= yaw <= np.pi
    np.testing.assert_array_equal(to_rpy(-quaternion), (roll, pitch, yaw))


@given(quaternion=quaternions)
def test_order_of_components_survives_the_round_trip(quaternion: Array) -> None:
    """The other order is that of PyBullet."""
    np.testing.assert_array_equal(from_xyzw(to_xyzw(quaternion)), quaternion)


@given(a=vectors, b=vectors)
def test_cross_product_equals_numpy(a: Array, b: Array) -> None:
    """The formula is written out for speed."""
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), atol=1e-12)


@pytest.mark.parametrize(
    ("rpy", "gravity"),
    [
        ((0, 0, 2.0), (0, 0, -1)),
        ((0, np.pi / 6, 0), (0.5, 0, -np.sqrt(3) / 2)),  # nose down: gravity points forward
        ((np.pi / 6, 0, 0), (0, -0.5, -np.sqrt(3) / 2)),  # left side up: gravity points right
    ],
    ids=["level", "nose down", "left up"],
)
def test_gravity_in_the_base_shows_attitude_but_not_yaw(
    rpy: tuple[float, float, float], gravity: tuple[float, ...]
) -> None:
    """The sign is that of the fall, opposite to an accelerometer at rest."""
    np.testing.assert_allclose(projected_gravity(from_rpy(*rpy)), gravity, atol=1e-12)


def test_gravity_is_down_seen_from_the_base() -> None:
    """This holds for any attitude, in a batch or alone."""
    quaternions = np.random.default_rng(0).standard_normal((50, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    expected = rotate_inverse(quaternions, np.array([0.0, 0.0, -1.0]))
    np.testing.assert_allclose(projected_gravity(quaternions), expected, atol=1e-15)
    np.testing.assert_allclose(projected_gravity(quaternions[7]), expected[7], atol=1e-15)


def test_functions_take_any_leading_dimensions() -> None:
    """Feet of shape (robots, feet, 3) are rotated by (robots, 1, 4)."""
    rng = np.random.default_rng(0)
    quaternion = from_rpy(*rng.uniform(-1, 1, (3, 5)))
    vector = rng.standard_normal((5, 4, 3))
    batch = rotate(quaternion[:, None], vector)
    for robot in range(5):
        for foot in range(4):
            np.testing.assert_allclose(
                batch[robot, foot], matrix(quaternion[robot]) @ vector[robot, foot], atol=1e-12
            )
