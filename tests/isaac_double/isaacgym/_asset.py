"""Assets: boxes, and robots from URDF files in Isaac Gym's order of joints and bodies."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ._rules import require_doubled
from ._types import DOF_PROPERTIES, AssetOptions, ForceSensorProperties, RigidShapeProperties


@dataclass
class Asset:
    """A kind of actor."""

    options: AssetOptions
    bodies: list[str]
    joints: list[str] = field(default_factory=list)
    joint_properties: np.ndarray = field(default_factory=lambda: np.zeros(0, DOF_PROPERTIES))
    body_of_link: dict[str, str] = field(default_factory=dict)
    """Body that contains each link of the file."""
    urdf: str = ""
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shapes: list[RigidShapeProperties] = field(default_factory=list)
    sensors: list[str] = field(default_factory=list)
    """Bodies with a force sensor."""

    def add_sensor(self, body: int, properties: ForceSensorProperties) -> int:
        """Put a force sensor on a body; return its number."""
        require_doubled(
            properties.use_world_frame and not properties.enable_forward_dynamics_forces,
            "force sensors other than of contacts, in the world frame",
        )
        self.sensors.append(self.bodies[body])
        return len(self.sensors) - 1


def box_asset(size: tuple[float, float, float], options: AssetOptions) -> Asset:
    """Return a box."""
    require_doubled(options.fix_base_link, "boxes that move")
    return Asset(copy.deepcopy(options), ["box"], size=size, shapes=[RigidShapeProperties()])


def urdf_asset(path: Path, options: AssetOptions) -> Asset:
    """Load a robot."""
    for name in ("angular_damping", "linear_damping", "armature", "thickness"):
        require_doubled(
            getattr(options, name) == 0, f"AssetOptions.{name} = {getattr(options, name)}"
        )
    require_doubled(
        not options.fix_base_link and not options.disable_gravity,
        "robots that are fixed or weightless",
    )
    robot = ET.parse(path).getroot()
    bodies, joints, body_of_link = [], [], {}
    for link, body, joint in _walk(robot, options.collapse_fixed_joints):
        body_of_link[link] = body
        if body == link:
            bodies.append(body)
        if joint is not None and joint.get("type") != "fixed":
            joints.append(joint)
    shapes = [RigidShapeProperties() for _ in robot.iter("collision")]
    names = [joint.get("name", "") for joint in joints]
    properties = _joint_properties(joints, options)
    return Asset(
        copy.deepcopy(options),
        bodies,
        names,
        properties,
        body_of_link,
        path.read_text(),
        shapes=shapes,
    )


def _walk(robot: ET.Element, collapse: bool) -> Iterator[tuple[str, str, ET.Element | None]]:
    """Yield every link with its body and the joint above it, depth first, siblings by name."""
    children: dict[str, list[tuple[str, ET.Element]]] = {}
    for joint in robot.iter("joint"):
        parent, child = (joint.find(end).get("link", "") for end in ("parent", "child"))  # type: ignore[union-attr]
        children.setdefault(parent, []).append((child, joint))
    below = {child for found in children.values() for child, _ in found}
    root = next(
        link.get("name", "") for link in robot.iter("link") if link.get("name") not in below
    )

    def visit(
        link: str, body: str, joint: ET.Element | None
    ) -> Iterator[tuple[str, str, ET.Element | None]]:
        yield link, body, joint
        for child, next_joint in sorted(children.get(link, ()), key=lambda pair: pair[0]):
            fixed = next_joint.get("type") == "fixed" and next_joint.get("dont_collapse") != "true"
            yield from visit(child, body if fixed and collapse else child, next_joint)

    return visit(root, root, None)


def _joint_properties(joints: list[ET.Element], options: AssetOptions) -> np.ndarray:
    properties = np.zeros(len(joints), DOF_PROPERTIES)
    properties["driveMode"], properties["hasLimits"] = options.default_dof_drive_mode, True
    for row, joint in zip(properties, joints, strict=True):
        limit = joint.find("limit")
        assert limit is not None
        for name in ("lower", "upper", "velocity", "effort"):
            row[name] = float(limit.get(name, "0"))
    return properties
