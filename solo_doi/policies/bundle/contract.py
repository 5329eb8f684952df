"""Contract of a bundle: all information that a robot needs to run the policy, as canonical JSON."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from solo_doi.common.errors import SoloError

SCHEMA = 1
ROBOT = "solo12"
"""The robot of all bundles."""
LARGEST_BUNDLE = 256_000_000
"""Largest size of a bundle [bytes]; the shipped ones have less than 10 MB."""


class BundleError(SoloError):
    """A bundle that must not be run."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """Contract of a bundle. SI units; per-joint values in the order of `joint_names`."""

    schema: int = SCHEMA
    """Version of the contract's format."""
    task: str
    """Task that the policy was trained for, as recorded with its training."""
    robot: str
    """Robot that the policy drives."""
    joint_names: tuple[str, ...]
    """Joints in the order of all per-joint values."""
    default_pose: tuple[float, ...]
    """Joint positions of a zero action [rad]."""
    kp: float
    """Stiffness of the joint controllers [N m/rad]."""
    kd: float
    """Damping of the joint controllers [N m s/rad]."""
    torque_limit: float
    """Largest joint torque in training [N m]."""
    position_limit: tuple[float, ...]
    """The graph clamps joint targets to plus and minus this [rad]."""
    action_scale: float
    """Joint target = default pose + scale x raw action [rad]."""
    observation: tuple[dict[str, Any], ...]
    """Terms in order: name, size, unit, frame. Raw SI values, no scaling."""
    history: int
    """Number of control steps in an observation; 1 is the present alone."""
    quaternion_order: str
    """Order of a quaternion's numbers."""
    control_dt: float
    """Period of the policy [s]."""
    motor_lag: tuple[float, float, float]
    """Delay from observation to torque: nominal, and smallest and largest of training [s]."""
    command: tuple[float, float, float]
    """Velocity command the skills were trained for: forward, sideways [m/s], yaw rate [rad/s]."""
    command_range: dict[str, tuple[float, ...]]
    """Commands that the skills follow, `low` and `high`; equal if trained for one command."""
    envelope: dict[str, tuple[float, ...]]
    """Range of observations in training: six standard deviations below and above the mean."""
    skills: tuple[dict[str, Any], ...]
    """Evaluation of every skill, and whether it was selected for the robot; empty without one."""
    num_skills: int
    """Number of skills."""
    made_from: dict[str, Any]
    """Run, fingerprints of its data, software of training and of export."""

    def canonical(self) -> str:
        """Return the contract as canonical JSON: equal contracts give equal texts."""
        return canonical(asdict(self))

    @classmethod
    def parse(cls, text: str, where: str) -> Contract:
        """Read the result of `canonical`; refuse unknown versions and fields."""
        try:
            content = parse_json(text)
        except (ValueError, RecursionError) as error:
            raise BundleError(
                f"{where}: its contract is not JSON ({error}). Export it again."
            ) from error
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            found = content.get("schema") if isinstance(content, dict) else None
            raise BundleError(
                f"{where}: contract schema {found}, this program reads {SCHEMA}. Export it again."
            )
        types = get_type_hints(cls)
        if set(content) != set(types):
            differing = ", ".join(sorted(set(content) ^ set(types)))
            raise BundleError(
                f"{where}: missing or unknown contract fields: {differing}. Export it again."
            )
        values: dict[str, Any] = {name: _frozen(value) for name, value in content.items()}
        for name, kind in types.items():
            if not _fits(values[name], kind):
                raise BundleError(
                    f"{where}: its contract says {values[name]!r} for {name}. Export it again."
                )
        return cls(**values)


def canonical(content: object) -> str:
    """Return sorted, compact JSON with floats in full precision; refuse NaN and infinity."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(text: str) -> object:
    """Read JSON; refuse NaN and infinity."""
    return json.loads(text, parse_constant=_refuse)


def digest(data: bytes) -> str:
    """Return the SHA-256 hash as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _fits(value: object, kind: object) -> bool:
    """Return True if a value has the type of its field."""
    origin = get_origin(kind)
    inner = get_args(kind)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[1:] == (...,):
            inner = inner[:1] * len(value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    if kind is float:
        # JSON may have an integer for a whole float; it may also be too large for a float.
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return abs(value) <= sys.float_info.max
    return kind is Any or type(value) is kind
