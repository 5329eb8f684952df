"""Agreement of two engines wherever the physics are unambiguous."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_DT, CONTROL_SETUPS, Array, symmetric_pose
from solo_doi.solo12.state import RobotState

pytest.importorskip("pybullet")

STANDING = CONTROL_SETUPS["locomotion"].default_pose
SQUATTING = symmetric_pose(0.05, 0.9, -2.0)


def play(engine: str, target_at: Callable[[float], Array], seconds: float) -> list[RobotState]:
    """Return the states of one robot that follows a target over time."""
    with make_simulator(engine, SimConfig()) as simulator:
        times = np.arange(round(seconds / CONTROL_DT)) * CONTROL_DT
        return [simulator.step(target_at(time)[None]) for time in times]


def squat(time: float) -> Array:
    """Stand for a second, then down and up once in two seconds."""
    depth = 0.5 - 0.5 * np.cos(np.pi * np.clip(time - 1.0, 0, 2))
    return STANDING + depth * (SQUATTING - STANDING)


def test_standing_takes_the_same_torques_and_forces() -> None:
    """Statics have one answer, except for the sideways forces of the feet.

    Torques agree within 2 % of the largest one, 12 mN m.
    """
    mujoco, bullet = (
        play(engine, lambda time: STANDING, 2.0)[-1] for engine in ("mujoco", "pybullet")
    )
    np.testing.assert_allclose(
        bullet.torque, mujoco.torque, atol=0.02 * np.abs(mujoco.torque).max()
    )
    np.testing.assert_allclose(
        bullet.foot_force_w, mujoco.foot_force_w, atol=0.02 * mujoco.foot_force_w.max()
    )
    np.testing.assert_allclose(bullet.base_position_w, mujoco.base_position_w, atol=2e-3)


def test_a_squat_moves_the_same_joints_the_same_way() -> None:
    """Joints move slowly by 0.3 and 0.6 rad under load.

    Joints agree within 6 mrad, height within 2 mm, torques within 30 mN m.
    """
    mujoco, bullet = (play(engine, squat, 3.5) for engine in ("mujoco", "pybullet"))
    for name, tolerance in (("joint_position", 6e-3), ("base_position_w", 2e-3), ("torque", 0.03)):
        one, other = (
            np.array([getattr(state, name)[0] for state in states]) for states in (mujoco, bullet)
        )
        np.testing.assert_allclose(other[50:], one[50:], atol=tolerance, err_msg=name)
    heights = [state.base_position_w[0, 2] for state in mujoco]
    assert min(heights) < heights[49] - 0.06  # the robot did squat
    assert heights[-1] == pytest.approx(heights[49], abs=5e-3)


def test_legs_in_the_air_move_the_same_way() -> None:
    """A step of the targets without contact.

    It tests only inertias, gains, lag and integrators.
    """
    mujoco, bullet = (swing(engine) for engine in ("mujoco", "pybullet"))
    np.testing.assert_allclose(bullet, mujoco, atol=0.015)
    assert np.ptp(mujoco, axis=0).max() > 0.2


def swing(engine: str) -> Array:
    """Return joint positions (steps, 12) of a falling robot after a 0.2 rad step of its targets."""
    with make_simulator(engine, SimConfig(decimation=1)) as simulator:
        motion = simulator.state()
        motion.base_position_w[0, 2] = 5.0
        simulator.reset(motion)
        jump = np.tile([0.1, 0.2, -0.2], 4)
        return np.array(
            [simulator.step((STANDING + jump)[None]).joint_position[0] for _ in range(60)]
        )
