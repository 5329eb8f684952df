"""MuJoCo Warp against C MuJoCo, with the same model."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from solo_doi.sim import Domain, SimConfig, Terrain, WarpConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.state import Motion, standing
from tests.sizes import size

POSE = CONTROL_SETUPS["locomotion"].default_pose
STATES = size(100, 1000)


def stumbling(count: int) -> tuple[Motion, Array]:
    """Return states (count) of robots that stumble in C MuJoCo, and the targets that follow."""
    rng = np.random.default_rng(0)
    robots = 50
    motions: list[Motion] = []
    with make_simulator("mujoco", SimConfig(num_robots=robots)) as simulator:
        for step in range(10 + count // robots):
            noise = np.clip(rng.normal(0, 0.25, (robots, 12)), -0.6, 0.6)
            state = simulator.step(POSE + noise)
            if step >= 10:
                motions.append(state)
    assert np.mean([state.foot_contact.mean() for state in motions]) > 0.3
    names = [field.name for field in fields(Motion)]
    joined = {name: np.concatenate([getattr(state, name) for state in motions]) for name in names}
    noise = np.clip(rng.normal(0, 0.25, (count, 12)), -0.6, 0.6)
    return Motion(**joined), POSE + noise


@pytest.fixture(scope="module")
def one_step(warp_cpu: WarpConfig) -> dict[str, Array]:
    """Largest difference per robot after one physics step from the same states, by field."""
    motion, target = stumbling(STATES)
    results = []
    for engine in ("mujoco", "warp"):
        setup = SimConfig(num_robots=STATES, decimation=1, warp=warp_cpu)
        with make_simulator(engine, setup) as simulator:
            simulator.reset(motion, target=target)
            results.append(simulator.step(target))
    mujoco, warp = results
    return {
        field.name: np.abs(getattr(warp, field.name) - getattr(mujoco, field.name))
        .reshape(STATES, -1)
        .max(axis=1)
        for field in fields(mujoco)
    }


def test_one_physics_step_agrees(one_step: dict[str, Array]) -> None:
    """Of all states, 99 % agree within 0.1 mm and 0.1 mrad, 1 cm/s and 10 mrad/s."""
    tolerances = {
        "base_position_w": 1e-4,
        "base_quaternion": 1e-4,
        "joint_position": 1e-4,
        "linear_velocity_b": 1e-2,
        "angular_velocity_b": 1e-2,
        "joint_velocity": 1e-2,
    }
    for name, tolerance in tolerances.items():
        assert np.mean(one_step[name] <= tolerance) >= 0.99, name


def test_forces_agree(one_step: dict[str, Array]) -> None:
    """Torques agree to rounding, contact forces within 0.1 N in 99 % of all states."""
    assert one_step["torque"].max() < 1e-4
    for name in ("foot_force_w", "body_force_w"):
        assert np.mean(one_step[name] <= 0.1) >= 0.99, name


def test_boxes_of_other_sizes_are_found_by_the_collision_search(warp_cpu: WarpConfig) -> None:
    """One robot has a box of 0.1 m beside it, the other stands at the edge of one of 3 m.

    Bounding spheres and boxes must grow with the box, or the second robot would sink in.
    """
    terrain = Terrain(
        np.array([[[1.0, 0.0]], [[1.2, 0.0]]]), np.array([[[0.1, 0.1, 0.2]], [[3.0, 3.0, 0.2]]])
    )
    motion = standing(CONTROL_SETUPS["locomotion"], 2)
    motion.base_position_w[1, 2] += 0.2
    finals = []
    for engine in ("mujoco", "warp"):
        setup = SimConfig(num_robots=2, warp=warp_cpu)
        with make_simulator(engine, setup, terrain) as simulator:
            simulator.reset(motion)
            for _ in range(25):
                state = simulator.step(motion.joint_position)
            finals.append(state)
    mujoco, warp = finals
    assert warp.base_position_w[1, 2] > 0.4
    np.testing.assert_allclose(warp.base_position_w, mujoco.base_position_w, atol=1e-4)
    np.testing.assert_allclose(warp.foot_force_w, mujoco.foot_force_w, atol=0.1)


def test_masses_change_what_mujoco_derives_from_them(warp_cpu: WarpConfig) -> None:
    """A robot that gets 2 kg and rotors while it stands moves as in C MuJoCo.

    Without `mj_setConst`, its centre of mass would stay that of the light robot.
    """
    heavy = Domain.nominal(2, added_mass=np.array([0.0, 2.0]), armature=np.array([0.0, 0.002]))
    finals = []
    for engine in ("mujoco", "warp"):
        with make_simulator(engine, SimConfig(num_robots=2, warp=warp_cpu)) as simulator:
            target = simulator.state().joint_position
            simulator.step(target)
            simulator.set_domain(heavy)
            for _ in range(10):
                state = simulator.step(target)
            finals.append(state)
    mujoco, warp = finals
    np.testing.assert_allclose(warp.base_position_w, mujoco.base_position_w, atol=1e-4)
    np.testing.assert_allclose(warp.joint_position, mujoco.joint_position, atol=1e-3)
    assert mujoco.base_position_w[1, 2] < mujoco.base_position_w[0, 2] - 5e-3
