"""MuJoCo backend: threads, divergence and the model for pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.sim import Domain, SimConfig, SimulationError, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.state import standing

mujoco = pytest.importorskip("mujoco")

POSE = CONTROL_SETUPS["locomotion"].default_pose


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    """Results on a laptop and on a server are equal."""
    targets = POSE + np.clip(np.random.default_rng(0).normal(0, 0.25, (20, 16, 12)), -0.6, 0.6)
    runs = []
    for threads in (1, 3):
        with make_simulator("mujoco", SimConfig(num_robots=16, threads=threads)) as simulator:
            runs.append([simulator.step(target).joint_position for target in targets])
    np.testing.assert_array_equal(runs[0], runs[1])


def test_divergence_names_the_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo resets a diverged robot silently, which must not enter a dataset."""
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log file
    with make_simulator("mujoco", SimConfig(num_robots=3)) as simulator:
        simulator.set_domain(Domain.nominal(3, friction=0.7))
        motion = standing(CONTROL_SETUPS["locomotion"], 3)
        velocity = np.zeros((3, 12))
        velocity[1] = 1e9
        simulator.reset(replace(motion, joint_velocity=velocity))
        with pytest.raises(
            SimulationError, match=r"physics of robot 1 diverged.*friction=array\(\[0.7\]\)"
        ):
            simulator.step(motion.joint_position)
        simulator.reset(motion)
        state = simulator.step(motion.joint_position)
        assert np.isfinite(state.base_position_w).all()


def test_pictures_do_not_change_the_physics() -> None:
    """Meshes, floor and light are added for rendering.

    Masses and motion stay the same to the last bit.
    """
    from solo_doi.sim.mujoco.mujoco_model import build_model

    plain, visual = (build_model(SimConfig(), visual=show) for show in (False, True))
    assert visual.ngeom > plain.ngeom
    finals = []
    for model in (plain, visual):
        data = mujoco.MjData(model)
        data.qpos[:] = [0, 0, 0.256, 1, 0, 0, 0, *POSE]
        data.ctrl[:] = POSE + 0.1
        mujoco.mj_step(model, data, 100)
        finals.append(data.qpos.copy())
    np.testing.assert_array_equal(finals[0], finals[1])
    np.testing.assert_array_equal(plain.body_mass, visual.body_mass)
    np.testing.assert_array_equal(plain.body_inertia, visual.body_inertia)
