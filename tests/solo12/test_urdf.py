"""The robot description: engines read the same numbers as in the constants."""

from __future__ import annotations

import importlib.metadata
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.solo12 import urdf
from solo_doi.solo12.constants import (
    ANKLE_Y,
    ANKLE_Z,
    FOOT_NAMES,
    FOOT_RADIUS,
    FRONT,
    HAA_X,
    HAA_Y,
    HFE_Y,
    JOINT_NAMES,
    KFE_Y,
    KFE_Z,
    LEG_NAMES,
    SIDE,
    link_inertias,
)
from solo_doi.solo12.limits import MECHANICAL_POSITION, TRAINING_LIMITS


@pytest.fixture(scope="module")
def robot() -> ET.Element:
    return ET.fromstring(urdf.solo12_urdf())


def numbers(element: ET.Element | None, attribute: str) -> list[float]:
    assert element is not None
    return [float(number) for number in element.get(attribute, "").split()]


def test_joints_come_in_the_one_order(robot: ET.Element) -> None:
    """Engines number joints by their order in the file."""
    assert [
        joint.get("name") for joint in robot.iter("joint") if joint.get("type") == "revolute"
    ] == list(JOINT_NAMES)


def test_frames_are_those_of_the_constants(robot: ET.Element) -> None:
    """Kinematics use the constants, physics use the file; both must describe the same robot."""
    joints = {joint.get("name"): joint for joint in robot.iter("joint")}
    for leg, side, front in zip(LEG_NAMES, SIDE, FRONT, strict=True):
        expected = {
            "HAA": ((HAA_X * front, HAA_Y * side, 0), (1, 0, 0)),
            "HFE": ((0, HFE_Y * side, 0), (0, 1, 0)),
            "KFE": ((0, KFE_Y * side, KFE_Z), (0, 1, 0)),
        }
        for name, (place, axis) in expected.items():
            joint = joints[f"{leg}_{name}"]
            np.testing.assert_allclose(numbers(joint.find("origin"), "xyz"), place, atol=1e-12)
            np.testing.assert_allclose(numbers(joint.find("origin"), "rpy"), 0, atol=1e-12)
            np.testing.assert_allclose(numbers(joint.find("axis"), "xyz"), axis, atol=1e-12)
        ankle = numbers(joints[f"{leg}_ANKLE"].find("origin"), "xyz")
        np.testing.assert_allclose(ankle, (0, ANKLE_Y * side, ANKLE_Z), atol=1e-12)


def test_inertias_are_written_without_loss(robot: ET.Element) -> None:
    """Seventeen links, each with mass, centre of mass and six moments to the last digit."""
    links = {link.get("name"): link for link in robot.iter("link")}
    assert set(links) == set(link_inertias())
    for name, inertia in link_inertias().items():
        link = links[name]
        moments = link.find("inertial/inertia")
        assert numbers(link.find("inertial/mass"), "value") == [inertia.mass]
        assert numbers(link.find("inertial/origin"), "xyz") == inertia.com.tolist()
        assert [
            numbers(moments, key)[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ] == inertia.moments.tolist()


def test_joint_ends_and_limits_are_in_the_file(robot: ET.Element) -> None:
    """example-robot-data has +-10 rad and 1000 N m, which no engine should use."""
    for joint in robot.iter("joint"):
        if joint.get("type") == "fixed":
            continue
        limit, end = (
            joint.find("limit"),
            MECHANICAL_POSITION[JOINT_NAMES.index(joint.get("name", ""))],
        )
        assert numbers(limit, "upper") == [end]
        assert numbers(limit, "lower") == [-end]
        assert numbers(limit, "effort") == [TRAINING_LIMITS.torque]
        assert numbers(limit, "velocity") == [TRAINING_LIMITS.velocity]


def test_feet_are_spheres_at_the_ankles_and_stay_links_of_their_own(robot: ET.Element) -> None:
    """Isaac Gym needs separate links of foot and shank to separate their contacts."""
    links = {link.get("name"): link for link in robot.iter("link")}
    for foot in FOOT_NAMES:
        assert numbers(links[foot].find("collision/geometry/sphere"), "radius") == [FOOT_RADIUS]
        assert numbers(links[foot].find("collision/origin"), "xyz") == [0, 0, 0]
    ankles = [joint for joint in robot.iter("joint") if joint.get("type") == "fixed"]
    assert len(ankles) == 4
    assert all(joint.get("dont_collapse") == "true" for joint in ankles)


def test_every_link_has_one_collision_shape_and_no_mesh(robot: ET.Element) -> None:
    """Meshes overlap the base at rest and are slow to collide."""
    assert all(len(link.findall("collision")) == 1 for link in robot.iter("link"))
    assert not list(robot.iter("mesh"))


def test_meshes_for_rendering_exist() -> None:
    """Paths are absolute, because only ROS resolves `package://`."""
    meshes = [
        Path(mesh.get("filename", ""))
        for mesh in ET.fromstring(urdf.solo12_urdf(visual=True)).iter("mesh")
    ]
    assert len(meshes) == 17
    assert all(mesh.is_file() for mesh in meshes)


def test_the_error_without_robot_data_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulators need the description, which is not in this repository."""

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    with pytest.raises(MissingPackageError, match="pip install example-robot-data"):
        urdf.solo12_urdf()
