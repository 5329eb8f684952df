"""The one description of Solo12 that every simulator loads.

Frames and meshes are those of example-robot-data; inertias and joint ends come from `constants` and
`limits`. Collision meshes become primitives, which are faster and free of spurious contacts (each
upper-leg mesh overlaps the base).
"""

from __future__ import annotations

import importlib.metadata
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

from solo_doi.common.errors import MissingPackageError

from .constants import (
    ANKLE_Y,
    ANKLE_Z,
    BASE_BOX,
    BASE_NAME,
    FOOT_RADIUS,
    FRONT,
    JOINT_NAMES,
    KFE_Z,
    LEG_NAMES,
    SIDE,
    Inertia,
    link_inertias,
)
from .limits import MECHANICAL_POSITION, TRAINING_LIMITS

PACKAGE = "example-robot-data"
MESH_PREFIX = f"package://{PACKAGE}/"


def robot_data_directory() -> Path:
    """Return the folder of `package://example-robot-data`."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise MissingPackageError(
            PACKAGE, "The Solo12 model", f"Run: pip install {PACKAGE}"
        ) from None
    for file in files:
        if file.as_posix().endswith("solo_description/robots/solo12.urdf"):
            return Path(str(file.locate())).resolve().parents[3]
    raise MissingPackageError(
        PACKAGE, "The Solo12 model", f"It is installed without solo12.urdf: reinstall {PACKAGE}."
    )


def solo12_urdf(*, visual: bool = False) -> str:
    """Return the URDF text; with `visual`, meshes are kept for rendering, by absolute path."""
    data = robot_data_directory()
    robot = ET.parse(data / "robots/solo_description/robots/solo12.urdf").getroot()
    inertias = link_inertias()
    for link in robot.iter("link"):
        name = link.get("name", "")
        _replace(link, "inertial", [_inertial(inertias[name])])
        _replace(link, "collision", _collision(name))
        _replace(link, "contact", [])
        if visual:
            for mesh in link.iter("mesh"):
                mesh.set("filename", str(data / mesh.get("filename", "").removeprefix(MESH_PREFIX)))
        else:
            _replace(link, "visual", [])
    for joint in robot.iter("joint"):
        _set_limits(joint)
    return ET.tostring(robot, encoding="unicode")


def _replace(link: ET.Element, tag: str, elements: list[ET.Element]) -> None:
    for old in link.findall(tag):
        link.remove(old)
    link.extend(elements)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _inertial(inertia: Inertia) -> ET.Element:
    element = ET.Element("inertial")
    ET.SubElement(element, "origin", xyz=_numbers(inertia.com), rpy="0 0 0")
    ET.SubElement(element, "mass", value=repr(inertia.mass))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ET.SubElement(
        element, "inertia", {n: repr(float(m)) for n, m in zip(names, inertia.moments, strict=True)}
    )
    return element


def _collision(link: str) -> list[ET.Element]:
    """Primitives fitted to the meshes' bounds; only the base's box is DOMiNiC's own."""
    if link == BASE_NAME:
        return [_shape("box", (0, 0, 0), size=_numbers(BASE_BOX))]
    leg, part = link.split("_", 1)
    side = SIDE[LEG_NAMES.index(leg)]
    front = FRONT[LEG_NAMES.index(leg)]
    if part == "SHOULDER":
        return [
            _capsule(
                (-0.0612 * front, -0.0056 * side, 0),
                radius=0.0225,
                length=0.1164,
                pitch=math.pi / 2,
            )
        ]
    if part == "UPPER_LEG":
        return [_capsule((0, 0.018 * side, KFE_Z / 2), radius=0.019, length=-KFE_Z)]
    if part == "LOWER_LEG":
        # Ends 20 mm above the ankle, so that the foot alone touches flat ground.
        length = -ANKLE_Z - 0.02
        return [_capsule((0, ANKLE_Y * side, -length / 2), radius=0.0125, length=length)]
    return [_shape("sphere", (0, 0, 0), radius=repr(FOOT_RADIUS))]


def _capsule(xyz: Iterable[float], radius: float, length: float, pitch: float = 0.0) -> ET.Element:
    return _shape("capsule", xyz, pitch, radius=repr(radius), length=repr(length))


def _shape(kind: str, xyz: Iterable[float], pitch: float = 0.0, **size: str) -> ET.Element:
    collision = ET.Element("collision")
    ET.SubElement(collision, "origin", xyz=_numbers(xyz), rpy=f"0 {pitch!r} 0")
    ET.SubElement(ET.SubElement(collision, "geometry"), kind, size)
    return collision


def _set_limits(joint: ET.Element) -> None:
    if joint.get("type") == "fixed":
        joint.set("dont_collapse", "true")  # Isaac Gym would merge the foot into the lower leg
        return
    end = MECHANICAL_POSITION[JOINT_NAMES.index(joint.get("name", ""))]
    limit = joint.find("limit")
    if limit is None:
        raise MissingPackageError(
            PACKAGE, "The Solo12 model", f"Its joint {joint.get('name')} has no limit: reinstall."
        )
    limit.attrib.update(
        lower=repr(float(-end)),
        upper=repr(float(end)),
        effort=repr(TRAINING_LIMITS.torque),
        velocity=repr(TRAINING_LIMITS.velocity),
    )
