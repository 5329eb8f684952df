"""The double's own behaviour, on a robot of two legs.

Calls that the worker never makes must be refused as well.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from .interpreters import HERE

LINK = """<link name="{0}">
<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""
JOINT = """<joint name="{0}" type="{1}" {3}>
<parent link="{2}"/><child link="{0}_link"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>"""


@pytest.fixture
def gymapi(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The double as in a new process: without torch, and without a simulation."""
    monkeypatch.syspath_prepend(str(HERE))
    torch = sys.modules.pop("torch", None)
    try:
        yield importlib.import_module("isaacgym.gymapi")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "isaacgym"]:
            del sys.modules[name]
        if torch is not None:
            sys.modules["torch"] = torch


class Lab:
    """One simulation with one robot of two legs."""

    def __init__(self, gymapi: ModuleType, folder: Path, ground_friction: float = 1.0) -> None:
        """Load the robot.

        Leg b stands before leg a in its file, and each has a foot that is fixed to it.
        """
        self.api, self.gym = gymapi, gymapi.acquire_gym()
        self.sim = self.gym.create_sim(0, -1, gymapi.SIM_PHYSX, self.parameters())
        plane = gymapi.PlaneParams()
        plane.normal, plane.static_friction = gymapi.Vec3(0, 0, 1), ground_friction
        self.gym.add_ground(self.sim, plane)
        parts = [LINK.format("base")]
        for leg, keep in (("b", 'dont_collapse="true"'), ("a", "")):
            parts += [LINK.format(f"{leg}_link"), JOINT.format(leg, "revolute", "base", "")]
            parts += [
                LINK.format(f"{leg}_foot_link"),
                JOINT.format(f"{leg}_foot", "fixed", f"{leg}_link", keep),
            ]
        (folder / "robot.urdf").write_text(f'<robot name="robot">{"".join(parts)}</robot>')
        options = gymapi.AssetOptions()
        options.angular_damping = options.thickness = 0.0
        options.collapse_fixed_joints, options.default_dof_drive_mode = True, 3
        self.asset = self.gym.load_asset(self.sim, str(folder), "robot.urdf", options)

    def parameters(self) -> object:
        """Z up, one substep."""
        parameters = self.api.SimParams()
        parameters.up_axis, parameters.gravity = self.api.UP_AXIS_Z, self.api.Vec3(0, 0, -9.81)
        parameters.substeps, parameters.use_gpu_pipeline = 1, True
        return parameters

    def start(self) -> None:
        """Put one robot 5 m above the ground."""
        self.env = self.gym.create_env(
            self.sim, self.api.Vec3(-1, -1, 0), self.api.Vec3(1, 1, 1), 1
        )
        pose = self.api.Transform()
        pose.p = self.api.Vec3(0, 0, 5)
        self.gym.create_actor(self.env, self.asset, pose, "robot", 0, 1)
        self.gym.prepare_sim(self.sim)

    def velocities(self) -> np.ndarray:
        """Names of the joints."""
        self.gym.refresh_dof_state_tensor(self.sim)
        return self.gym.acquire_dof_state_tensor(self.sim).values[:, 1].copy()


@pytest.fixture
def lab(gymapi: ModuleType, tmp_path: Path) -> Lab:
    """A simulation that is being built."""
    return Lab(gymapi, tmp_path)


def test_siblings_are_sorted_by_name_and_unmarked_fixed_joints_collapse(lab: Lab) -> None:
    """The order is depth first and by name, not that of the file; only the foot of b is marked."""
    assert lab.gym.get_asset_dof_names(lab.asset) == ["a", "b"]
    assert lab.gym.get_asset_rigid_body_names(lab.asset) == [
        "base",
        "a_link",
        "b_link",
        "b_foot_link",
    ]


def test_a_process_has_one_simulation(lab: Lab) -> None:
    """A destroyed simulation leaves the GPU's memory in a bad state."""
    with pytest.raises(Exception, match="one simulation per process"):
        lab.gym.create_sim(0, -1, lab.api.SIM_PHYSX, lab.parameters())


def test_materials_run_out(lab: Lab) -> None:
    """4096 robots of 17 shapes with their own frictions would need 69632 materials."""
    shape = lab.api.RigidShapeProperties
    lab.sim.add_material([shape(friction=number / 64000) for number in range(64000)])
    lab.sim.add_material([shape(friction=0.5)])  # an existing material
    with pytest.raises(Exception, match="room for 64000 materials"):
        lab.sim.add_material([shape(friction=7.0)])


def test_frictions_are_averaged(gymapi: ModuleType, tmp_path: Path) -> None:
    """Ground 0.2 and shapes 1.0 give 0.6."""
    lab = Lab(gymapi, tmp_path, ground_friction=0.2)
    lab.start()
    np.testing.assert_allclose(lab.sim.world._friction[0, lab.sim.world._geoms, 0], 0.6)


def test_efforts_are_consumed_by_one_step(lab: Lab) -> None:
    """The second step without efforts changes no velocity."""
    lab.start()
    efforts = lab.api.Tensor(np.array([0.0, 1.0], np.float32))
    lab.gym.set_dof_actuation_force_tensor(lab.sim, efforts)
    lab.gym.simulate(lab.sim)
    first = lab.velocities()
    lab.gym.simulate(lab.sim)
    np.testing.assert_allclose(lab.velocities(), first, atol=1e-6)
    assert first[1] > 1e-3


def test_an_edited_buffer_has_no_effect_until_it_is_set(lab: Lab) -> None:
    """The tensor is for reading; a setter applies it at the next step."""
    lab.start()
    buffer = lab.gym.acquire_dof_state_tensor(lab.sim).values
    buffer[:, 1] = 2.0
    lab.gym.simulate(lab.sim)
    np.testing.assert_allclose(lab.velocities(), 0.0, atol=1e-6)
    buffer[:, 1] = 2.0
    indices = lab.api.Tensor(np.zeros(1, np.int32), "int32")
    lab.gym.set_dof_state_tensor_indexed(lab.sim, lab.api.Tensor(buffer), indices, 1)
    lab.gym.simulate(lab.sim)
    np.testing.assert_allclose(lab.velocities(), 2.0, atol=0.1)


@pytest.mark.parametrize(
    ("kind", "size", "message"), [("float64", 2, "expected float32"), ("float32", 3, "shape")]
)
def test_tensors_of_another_kind_are_refused(lab: Lab, kind: str, size: int, message: str) -> None:
    """The real Isaac Gym would misread the bytes."""
    lab.start()
    with pytest.raises(Exception, match=message):
        lab.gym.set_dof_actuation_force_tensor(lab.sim, lab.api.Tensor(np.zeros(size), kind))


def test_structures_refuse_fields_that_do_not_exist(gymapi: ModuleType) -> None:
    """A misspelt name must not count as a setting."""
    with pytest.raises(AttributeError):
        gymapi.AssetOptions().colapse_fixed_joints = True
