"""The interface of every simulator: N robots, joint targets in, robot states out, numpy on both sides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import (
    CONTROL_SETUPS,
    DECIMATION,
    JOINT_NAMES,
    NUM_JOINTS,
    NUM_LEGS,
    PHYSICS_DT,
    Array,
)
from solo_doi.solo12.limits import MECHANICAL_POSITION, TRAINING
from solo_doi.solo12.state import Motion, RobotState, feet_in_world

from .domain import PLAUSIBLE, Domain
from .isaac_config import IsaacConfig
from .motor_delay import TargetDelay
from .terrain import Terrain

MOTION_SHAPES = {
    "base_position_w": (3,),
    "base_quaternion": (4,),
    "linear_velocity_b": (3,),
    "angular_velocity_b": (3,),
    "joint_position": (NUM_JOINTS,),
    "joint_velocity": (NUM_JOINTS,),
}

STOP_SLACK = 0.1
"""How far beyond its mechanical end a joint may be found: simulated stops are soft [rad]."""


@dataclass(frozen=True, kw_only=True)
class SimConfig:
    """What is the same for all robots of a simulator."""

    num_robots: int = 1
    kp: float = CONTROL_SETUPS["locomotion"].kp
    """Position gain of the joint controller [N m/rad]."""
    kd: float = CONTROL_SETUPS["locomotion"].kd
    """Velocity gain of the joint controller [N m s/rad]."""
    torque_limit: float = TRAINING.torque
    """Largest joint torque [N m]."""
    physics_dt: float = PHYSICS_DT
    """Physics step; the joint controller runs at this rate [s]."""
    decimation: int = DECIMATION
    """Physics steps per control step."""
    threads: int = 0
    """Threads that step robots (MuJoCo); 0 takes every core."""
    isaac: IsaacConfig | None = None
    """Where Isaac Gym is and on which device it runs; only Isaac Gym needs it."""

    @property
    def control_dt(self) -> float:
        """Duration of a control step [s]."""
        return self.physics_dt * self.decimation


class SimulationError(SoloError):
    """The physics itself failed, or it was given numbers it cannot work with."""


class Simulator(ABC):
    """N robots side by side, none aware of the others. Robots start standing, in nominal domains."""

    name: str
    unsupported_domain: frozenset[str] = frozenset()
    """Domain fields that this engine cannot vary from their nominal value."""
    lasting_domain: frozenset[str] = frozenset()
    """Domain fields that keep, in this engine, the values they have at the first step."""
    can_save = False
    """Whether `save` and `load` work."""

    def __init__(self, config: SimConfig, terrain: Terrain | None = None) -> None:
        """Check the configuration; subclasses build their engine after this."""
        if config.num_robots < 1 or config.decimation < 1 or not config.physics_dt > 0:
            raise SoloError(
                f"Robots, decimation and physics step must be above zero, found {config}."
            )
        if not np.isfinite([config.kp, config.kd, config.torque_limit]).all():
            raise SoloError(f"Gains and torque limit must be finite, found {config}.")
        self.config = config
        self.terrain = terrain if terrain is not None else Terrain.flat(config.num_robots)
        if self.terrain.num_robots != config.num_robots:
            raise SoloError(
                f"The terrain is for {self.terrain.num_robots} robots, the simulator for {config.num_robots}."
            )
        self.domain = Domain.nominal(config.num_robots)
        self._has_stepped = False
        self._delay = TargetDelay(
            config.num_robots,
            config.physics_dt,
            config.decimation,
            longest_lag=PLAUSIBLE["motor_lag"][1],
        )

    @property
    def num_robots(self) -> int:
        """How many robots are simulated."""
        return self.config.num_robots

    def set_domain(self, domain: Domain, robots: Sequence[int] | np.ndarray | None = None) -> None:
        """Give some robots (all by default) other physics, from their next reset or step on."""
        robots = self._robots(robots)
        if len(domain) != len(robots):
            raise SoloError(
                f"The domain is for {len(domain)} robots, {len(robots)} were to be set."
            )
        for name in self.unsupported_domain:
            nominal, values = getattr(Domain.nominal(1), name)[0], getattr(domain, name)
            if (values != nominal).any():
                robot = np.argmax(values != nominal)
                raise SoloError(
                    f"{self.name} cannot simulate another {name!r} than {nominal}; robot {robots[robot]} asks for "
                    f"{values[robot]}: use MuJoCo, or leave the field at its nominal value."
                )
        self._refuse_late_changes(domain, robots)
        self.domain = self.domain.replaced(robots, domain)
        self._delay.set_lag(robots, domain.motor_lag)
        self._apply_domain(robots, domain)

    def possible_domain(
        self, domain: Domain, robots: Sequence[int] | np.ndarray | None = None
    ) -> Domain:
        """Return a domain that `set_domain` accepts now: fields that last keep the values these robots have."""
        if not self._has_stepped or not self.lasting_domain:
            return domain
        mine = self.domain[self._robots(robots)]
        return replace(domain, **{name: getattr(mine, name) for name in self.lasting_domain})

    def reset(
        self,
        motion: Motion,
        robots: Sequence[int] | np.ndarray | None = None,
        target: Array | None = None,
    ) -> RobotState:
        """Put some robots (all by default) into given states; the others are not touched.

        The motors hold `target` (the given joint positions by default) until the first delayed target arrives.
        Contact forces and torques read zero until the next step.
        """
        robots = self._robots(robots)
        for name, shape in MOTION_SHAPES.items():
            _check_array(name, getattr(motion, name), (len(robots), *shape), robots)
        norm = np.linalg.norm(motion.base_quaternion, axis=-1)
        if (abs(norm - 1) > 1e-3).any():
            robot = np.argmax(abs(norm - 1))
            raise SimulationError(
                f"base_quaternion of robot {robots[robot]} has norm {norm[robot]}, expected 1."
            )
        _check_joints("joint_position", motion.joint_position, robots, slack=STOP_SLACK)
        if target is not None:
            _check_array("target", target, (len(robots), NUM_JOINTS), robots)
            _check_joints("target", target, robots)
        self._delay.reset(robots, motion.joint_position if target is None else target)
        self._reset(robots, motion)
        return self.state()

    def step(self, target: Array, push_w: Array | None = None) -> RobotState:
        """Hold joint targets (N, 12) for one control step; `push_w` (N, 3) pulls at the bases meanwhile [N]."""
        everyone = np.arange(self.num_robots)
        _check_array("target", target, (self.num_robots, NUM_JOINTS), everyone)
        _check_joints("target", target, everyone)
        if push_w is not None:
            _check_array("push_w", push_w, (self.num_robots, 3), everyone)
        self._has_stepped = True
        self._step(self._delay.push(target), push_w)
        return self.state()

    def kick(self, robots: Sequence[int] | np.ndarray, linear_w: Array, angular_b: Array) -> None:
        """Add to the velocities of some bases at once [m/s, rad/s]."""
        robots = self._robots(robots)
        _check_array("linear_w", linear_w, (len(robots), 3), robots)
        _check_array("angular_b", angular_b, (len(robots), 3), robots)
        self._kick(robots, linear_w, angular_b)

    def save(self) -> dict[str, np.ndarray]:
        """Return all that is needed to continue with the same numbers; not every engine can."""
        domain = {
            f"domain.{field.name}": getattr(self.domain, field.name)
            for field in fields(self.domain)
        }
        return {**domain, "delay": self._delay.history.copy(), **self._save()}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from what `save` returned."""
        self.set_domain(
            Domain(**{field.name: saved[f"domain.{field.name}"] for field in fields(Domain)})
        )
        self._delay.history[:] = saved["delay"]
        self._load(saved)

    def _save(self) -> dict[str, np.ndarray]:
        raise SoloError(
            f"{self.name} cannot save its state: what is simulated in it cannot be resumed exactly."
        )

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        raise SoloError(f"{self.name} cannot load a state.")

    def close(self) -> None:  # noqa: B027  # an engine without resources need not override it
        """Free the engine."""

    def __enter__(self) -> Self:
        """Use as a context manager: closed on leaving."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()

    def _refuse_late_changes(self, domain: Domain, robots: np.ndarray) -> None:
        if not self._has_stepped:
            return
        for name in sorted(self.lasting_domain):
            now, asked = getattr(self.domain, name)[robots], getattr(domain, name)
            if (now != asked).any():
                row = np.argmax(now != asked)
                raise SoloError(
                    f"{self.name} cannot change {name!r} once it has stepped: robot {robots[row]} has {now[row]} and "
                    f"is to get {asked[row]}. Set it before the first step, or leave it with `possible_domain`."
                )

    def _robots(self, robots: Sequence[int] | np.ndarray | None) -> np.ndarray:
        if robots is None:
            return np.arange(self.num_robots)
        array = np.asarray(robots)
        if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
            raise SoloError(f"Robots are chosen by a list of indices, found {robots!r}.")
        array = array.astype(np.intp)
        absent = array[(array < 0) | (array >= self.num_robots)]
        if absent.size:
            raise SoloError(
                f"Robot {absent[0]} was asked for, the simulator has 0 to {self.num_robots - 1}."
            )
        return array

    @abstractmethod
    def state(self) -> RobotState:
        """Return a copy of all robots' states."""

    @abstractmethod
    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None: ...

    @abstractmethod
    def _reset(self, robots: np.ndarray, motion: Motion) -> None: ...

    @abstractmethod
    def _step(self, schedule: Array, push_w: Array | None) -> None:
        """Run the physics steps with targets (N, decimation, 12)."""

    @abstractmethod
    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None: ...


def assemble_state(motion: Motion, torque: Array, forces: Array) -> RobotState:
    """Return the full state of robots from what an engine gives: `forces` (N, 17, 3) has the feet first."""
    foot_position_w, foot_velocity_w = feet_in_world(motion)
    return RobotState(
        **vars(motion),
        torque=torque.copy(),
        foot_position_w=foot_position_w,
        foot_velocity_w=foot_velocity_w,
        foot_force_w=forces[:, :NUM_LEGS].copy(),
        body_force_w=forces[:, NUM_LEGS:].copy(),
    )


def check_finite(state: Motion, advice: str) -> None:
    """Raise if any number of any robot is NaN or infinite."""
    for field in fields(state):
        values = getattr(state, field.name)
        if not np.isfinite(values).all():
            robot = np.argwhere(~np.isfinite(values))[0][0]
            raise SimulationError(f"{field.name} of robot {robot} is not finite. {advice}")


def _check_array(name: str, values: Array, shape: tuple[int, ...], robots: np.ndarray) -> None:
    if np.shape(values) != shape:
        raise SimulationError(f"{name} has shape {np.shape(values)}, expected {shape}.")
    if not np.isfinite(values).all():
        row, *rest = np.argwhere(~np.isfinite(values))[0]
        joint = f", joint {JOINT_NAMES[rest[0]]}," if shape[1:] == (NUM_JOINTS,) else ""
        raise SimulationError(
            f"{name} of robot {robots[row]}{joint} is {values[row][tuple(rest)]}: expected a finite number."
        )


def _check_joints(name: str, values: Array, robots: np.ndarray, slack: float = 0.0) -> None:
    outside = np.abs(values) > MECHANICAL_POSITION + slack
    if outside.any():
        row, joint = np.argwhere(outside)[0]
        raise SimulationError(
            f"{name} of robot {robots[row]}, joint {JOINT_NAMES[joint]}, is {values[row, joint]:.3f} rad, expected "
            f"within +-{MECHANICAL_POSITION[joint]:.3f}: clamp it, as `solo12.action.joint_target` does."
        )
