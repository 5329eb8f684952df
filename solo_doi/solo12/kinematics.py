"""Forward kinematics and Jacobians of the four legs, in the base frame.

One leg is HAA about x at the hip, then HFE and KFE about y: the foot is
    foot = hip + Rx(q0) (offset + Ry(q1) (thigh + Ry(q2) shank)).
"""

from __future__ import annotations

import numpy as np

from .constants import (
    ANKLE_Y,
    ANKLE_Z,
    FRONT,
    HAA_X,
    HAA_Y,
    HFE_Y,
    KFE_Y,
    KFE_Z,
    NUM_LEGS,
    SIDE,
    Array,
    constant,
)

HIPS_B = constant(np.stack([HAA_X * FRONT, HAA_Y * SIDE, np.zeros(NUM_LEGS)], axis=1))
"""Points on the HAA axes in the base frame, (4, 3) [m]."""
LEG_WIDTH = constant(SIDE * (HFE_Y + KFE_Y + ANKLE_Y))
"""Lateral distance from HAA axis to foot, (4,) [m].
The three offsets are parallel to the HFE and KFE axes, so they add up."""


def foot_positions(joint_position: Array) -> Array:
    """Centres of the four feet in the base frame, (..., 4, 3), from joint angles (..., 12)."""
    return _positions(_angles(joint_position))


def foot_jacobians(joint_position: Array) -> Array:
    """Derivatives of foot positions by the leg's joints, (..., 4, 3, 3), in the base frame."""
    c0, s0, x, z, knee_x, knee_z = _angles(joint_position)
    zero = np.zeros_like(x)
    # About x by HAA: d(y, z) = (-z_b, y_b) seen from the hip.
    by_haa = np.stack([zero, -(s0 * LEG_WIDTH + c0 * z), c0 * LEG_WIDTH - s0 * z], axis=-1)
    # About y by HFE, in the leg's plane: d(x, z) = (z, -x).
    by_hfe = np.stack([z, s0 * x, -c0 * x], axis=-1)
    by_kfe = np.stack([knee_z, s0 * knee_x, -c0 * knee_x], axis=-1)
    return np.stack([by_haa, by_hfe, by_kfe], axis=-1)


def foot_motion(joint_position: Array, joint_velocity: Array) -> tuple[Array, Array]:
    """Foot positions and velocities relative to the base, both (..., 4, 3), in the base frame."""
    angles = _angles(joint_position)
    c0, s0, x, z, knee_x, knee_z = angles
    rates = joint_velocity.reshape(*joint_velocity.shape[:-1], NUM_LEGS, 3)
    haa = rates[..., 0]
    hfe = rates[..., 1]
    kfe = rates[..., 2]
    # The Jacobian times the rates, without building the Jacobian.
    along = hfe * z + kfe * knee_z
    up = -(hfe * x + kfe * knee_x)
    lateral_b = c0 * LEG_WIDTH - s0 * z
    height_b = s0 * LEG_WIDTH + c0 * z
    velocity = np.stack([along, -haa * height_b - s0 * up, haa * lateral_b + c0 * up], axis=-1)
    return _positions(angles), velocity


def _angles(joint_position: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Cosine and sine of HAA, hip-to-foot and knee-to-foot (x, z) in the leg's plane, (..., 4)."""
    q = joint_position.reshape(*joint_position.shape[:-1], NUM_LEGS, 3)
    hfe = q[..., 1]
    knee = hfe + q[..., 2]
    # Ry(a) (0, 0, l) = (l sin a, 0, l cos a), with l negative: links hang down.
    knee_x = ANKLE_Z * np.sin(knee)
    knee_z = ANKLE_Z * np.cos(knee)
    x = KFE_Z * np.sin(hfe) + knee_x
    z = KFE_Z * np.cos(hfe) + knee_z
    return np.cos(q[..., 0]), np.sin(q[..., 0]), x, z, knee_x, knee_z


def _positions(angles: tuple[Array, Array, Array, Array, Array, Array]) -> Array:
    c0, s0, x, z, _, _ = angles
    return HIPS_B + np.stack([x, c0 * LEG_WIDTH - s0 * z, s0 * LEG_WIDTH + c0 * z], axis=-1)
