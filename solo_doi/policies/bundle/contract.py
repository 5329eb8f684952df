"""What a bundle promises: everything a robot must know to run its policy, as canonical JSON."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass, fields
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from solo_doi.common.errors import SoloError

SCHEMA = 1


class BundleError(SoloError):
    """A bundle that must not run."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """All of it; numbers in SI units, per-joint values in the order of `joint_names`."""

    schema: int = SCHEMA
    task: str
    robot: str
    joint_names: tuple[str, ...]
    default_pose: tuple[float, ...]
    kp: float
    kd: float
    torque_limit: float
    position_limit: tuple[float, ...]
    """Joint targets are clamped to +- this inside the graph."""
    action_scale: float
    """Radians per unit of the raw action; joint target = default pose + scale x action."""
    observation: tuple[dict[str, Any], ...]
    """Terms in order: name, size, unit, frame. Raw SI values, no scaling."""
    history: int
    """How many steps an observation shows; 1 is the present alone."""
    quaternion_order: str
    control_dt: float
    motor_lag: tuple[float, float, float]
    """Delay from observation to torque: nominal, least and most of training [s]."""
    command: tuple[float, float, float]
    """Velocity command the skills were trained for: forward, sideways [m/s], yaw rate [rad/s]."""
    command_range: dict[str, tuple[float, ...]]
    """Commands they follow, `low` and `high`; the same where they know one command only."""
    envelope: dict[str, tuple[float, ...]]
    """Observations of training, `low` and `high`: six deviations around the mean."""
    skills: tuple[dict[str, Any], ...]
    """What evaluation found of every skill, and whether it was selected for the robot; empty if not evaluated."""
    num_skills: int
    made_from: dict[str, Any]
    """Run, its data's fingerprints, the software that made it and the software that exported it."""

    def canonical(self) -> str:
        """Return JSON that is the same for the same contract: sorted, compact, floats in full."""
        return canonical(asdict(self))

    @classmethod
    def parse(cls, text: str, where: str) -> Contract:
        """Read what `canonical` wrote; an unknown schema or field is refused."""
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
        names = {field.name for field in fields(cls)}
        if set(content) != names:
            odd = sorted(set(content) ^ names)
            raise BundleError(
                f"{where}: its contract lacks or has too much of {', '.join(odd)}. Export it again."
            )
        values = {name: _frozen(value) for name, value in content.items()}
        for name, kind in get_type_hints(cls).items():
            if not _fits(values[name], kind):
                raise BundleError(
                    f"{where}: its contract says {values[name]!r} for {name}. Export it again."
                )
        return cls(**values)


def canonical(content: object) -> str:
    """Return sorted, compact JSON; NaN and infinities are refused."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_json(text: str) -> Any:  # noqa: ANN401  # any JSON value
    """Read JSON; NaN and infinities are refused."""
    return json.loads(text, parse_constant=_refuse)


def digest(data: bytes) -> str:
    """SHA-256 as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


def _frozen(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _fits(value: Any, kind: Any) -> bool:  # noqa: ANN401  # any value, any type of a field
    """Whether a value has the type of its field."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        kinds = (
            inner[:1] * len(value) if isinstance(value, tuple) and inner[1:] == (...,) else inner
        )
        return (
            isinstance(value, tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
        )
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    if kind is float:
        return (
            type(value) in (int, float) and abs(value) <= sys.float_info.max
        )  # integers may be larger
    return kind is Any or type(value) is kind
