"""Quaternions with one convention: (w, x, y, z), unit norm, rotating base vectors into the world.

Simulators with another order convert at their border (`from_xyzw`, `to_xyzw`). All functions accept
any leading dimensions.
"""

from __future__ import annotations

import math

import numpy as np

from .constants import Array, constant

IDENTITY = constant([1, 0, 0, 0])


def from_xyzw(quaternion: Array) -> Array:
    """Convert from the order of PyBullet and Isaac Gym."""
    return np.roll(quaternion, 1, axis=-1)


def to_xyzw(quaternion: Array) -> Array:
    """Convert to the order of PyBullet and Isaac Gym."""
    return np.roll(quaternion, -1, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Cross product over the last axis."""
    # Written out: ten times faster than `np.cross` on small batches.
    ax = a[..., 0]
    ay = a[..., 1]
    az = a[..., 2]
    bx = b[..., 0]
    by = b[..., 1]
    bz = b[..., 2]
    x = ay * bz - az * by
    product = np.empty((*x.shape, 3), x.dtype)  # half the time of `np.stack` for single vectors
    product[..., 0] = x
    product[..., 1] = az * bx - ax * bz
    product[..., 2] = ax * by - ay * bx
    return product


def rotate(quaternion: Array, vector_b: Array) -> Array:
    """Express a base-frame vector in the world frame."""
    w = quaternion[..., :1]
    u = quaternion[..., 1:]
    twice = 2.0 * cross(u, vector_b)
    return vector_b + w * twice + cross(u, twice)


def rotate_inverse(quaternion: Array, vector_w: Array) -> Array:
    """Express a world-frame vector in the base frame."""
    return rotate(conjugate(quaternion), vector_w)


def conjugate(quaternion: Array) -> Array:
    """Inverse rotation of a unit quaternion."""
    return quaternion * [1.0, -1.0, -1.0, -1.0]


def multiply(a: Array, b: Array) -> Array:
    """Rotation `b` followed by rotation `a`."""
    aw = a[..., :1]
    au = a[..., 1:]
    bw = b[..., :1]
    bu = b[..., 1:]
    scalar = aw * bw - np.sum(au * bu, axis=-1, keepdims=True)
    return np.concatenate([scalar, aw * bu + bw * au + cross(au, bu)], axis=-1)


def from_rpy(roll: Array | float, pitch: Array | float, yaw: Array | float) -> Array:
    """Quaternion of turns by roll about x, then pitch about y, then yaw about z (world axes)."""
    roll, pitch, yaw = np.broadcast_arrays(
        *(np.asarray(angle, dtype=np.float64) / 2 for angle in (roll, pitch, yaw))
    )
    zero = np.zeros_like(roll)
    about_x = np.stack([np.cos(roll), np.sin(roll), zero, zero], axis=-1)
    about_y = np.stack([np.cos(pitch), zero, np.sin(pitch), zero], axis=-1)
    about_z = np.stack([np.cos(yaw), zero, zero, np.sin(yaw)], axis=-1)
    return multiply(about_z, multiply(about_y, about_x))


def to_rpy(quaternion: Array) -> tuple[Array, Array, Array]:
    """Roll and yaw in (-pi, pi], pitch in [-pi/2, pi/2]; the inverse of `from_rpy`."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw


def projected_gravity(quaternion: Array) -> Array:
    """Direction of gravity in the base frame: (0, 0, -1) when level."""
    w = quaternion[..., 0]
    x = quaternion[..., 1]
    y = quaternion[..., 2]
    z = quaternion[..., 3]
    # `rotate_inverse` of (0, 0, -1), written out: a third of the time.
    gravity = np.empty((*w.shape, 3), w.dtype)
    gravity[..., 0] = 2.0 * (w * y - x * z)
    gravity[..., 1] = -2.0 * (y * z + w * x)
    gravity[..., 2] = 2.0 * (x * x + y * y) - 1.0
    return gravity


# --- One rotation only: plain numbers, ten times faster than arrays of one row -----------------


def matrix(quaternion: Array) -> Array:
    """Matrix (3, 3) of one rotation, from base to world."""
    w, x, y, z = quaternion.tolist()
    return np.array((
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ))  # fmt: skip


def cross_matrix(vector: Array) -> Array:
    """Matrix (3, 3) of the cross product with one vector on the left."""
    x, y, z = vector.tolist()
    return np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))


def right_matrix(quaternion: Array) -> Array:
    """Matrix (4, 4) of the multiplication by one quaternion on the right."""
    w, x, y, z = quaternion.tolist()
    return np.array(((w, -x, -y, -z), (x, w, z, -y), (y, -z, w, x), (z, y, -x, w)))


def tilt(quaternion: Array) -> float:
    """Angle between one base and level [rad]."""
    _, x, y, _ = quaternion.tolist()
    return math.acos(min(1.0, max(-1.0, 1 - 2 * (x * x + y * y))))
