"""Interface of every simulator: N robots, joint targets in, robot states out, as numpy arrays."""

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
    NUM_JOINTS,
    NUM_LEGS,
    PHYSICS_DT,
    Array,
)
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.observation import scan_points
from solo_doi.solo12.state import Motion, RobotState, feet_in_world

from .domain import PLAUSIBLE, Domain
from .input_checks import check_array, check_joints, check_motion
from .isaac_config import IsaacConfig
from .motor_delay import TargetDelay
from .terrain import Terrain
from .warp_config import WarpConfig


@dataclass(frozen=True, kw_only=True)
class SimConfig:
    """Settings common to all robots of a simulator."""

    num_robots: int = 1
    """Robots that are simulated together."""
    kp: float = CONTROL_SETUPS["locomotion"].kp
    """Position gain of the joint controller [N m/rad]."""
    kd: float = CONTROL_SETUPS["locomotion"].kd
    """Velocity gain of the joint controller [N m s/rad]."""
    torque_limit: float = TRAINING_LIMITS.torque
    """Largest joint torque [N m]."""
    physics_dt: float = PHYSICS_DT
    """Physics step; the joint controller runs at this rate [s]."""
    decimation: int = DECIMATION
    """Physics steps per control step."""
    threads: int = 0
    """Threads that step robots (MuJoCo); 0: one per core."""
    isaac: IsaacConfig | None = None
    """Location and device of Isaac Gym; not needed by other simulators."""
    warp: WarpConfig | None = None
    """Device and limits of MuJoCo Warp; by default those of the environment."""

    @property
    def control_dt(self) -> float:
        """Duration of a control step [s]."""
        return self.physics_dt * self.decimation


class Simulator(ABC):
    """N robots that do not interact. They start standing, in nominal domains."""

    name: str
    """Name in messages."""
    unsupported_domain: frozenset[str] = frozenset()
    """Domain fields that this engine cannot vary from their nominal value."""
    constant_domain: frozenset[str] = frozenset()
    """Domain fields that this engine cannot change after the first step."""
    can_save = False
    """True if `save` and `load` work."""

    def __init__(self, config: SimConfig, terrain: Terrain | None = None) -> None:
        """Check the configuration; subclasses build their engine after this."""
        if config.num_robots < 1 or config.decimation < 1 or not config.physics_dt > 0:
            raise SoloError(
                f"Robots, decimation and physics step must be above zero, found {config}."
            )
        if not np.isfinite([config.kp, config.kd, config.torque_limit]).all():
            raise SoloError(f"Gains and torque limit must be finite, found {config}.")
        self.config = config
        if terrain is None:
            terrain = Terrain.flat(config.num_robots)
        self.terrain = terrain
        if self.terrain.num_robots != config.num_robots:
            raise SoloError(
                f"The terrain is for {self.terrain.num_robots} robots, "
                f"the simulator for {config.num_robots}."
            )
        self.domain = Domain.nominal(config.num_robots)
        self._has_stepped = False
        self._delay = self._make_delay(PLAUSIBLE["motor_lag"][1])

    @property
    def num_robots(self) -> int:
        """Number of simulated robots."""
        return self.config.num_robots

    @property
    def provenance(self) -> dict[str, str]:
        """Device and settings of the engine, for records of what it made."""
        return {}

    def set_domain(self, domain: Domain, robots: Sequence[int] | np.ndarray | None = None) -> None:
        """Set the physics of some robots (default: all), from their next reset or step on."""
        robots = self._robots(robots)
        if len(domain) != len(robots):
            raise SoloError(
                f"The domain is for {len(domain)} robots, {len(robots)} were to be set."
            )
        for name in self.unsupported_domain:
            nominal = getattr(Domain.nominal(1), name)[0]
            values = getattr(domain, name)
            if (values != nominal).any():
                robot = np.argmax(values != nominal)
                raise SoloError(
                    f"{self.name} cannot simulate another {name!r} than {nominal}; "
                    f"robot {robots[robot]} asks for {values[robot]}: use MuJoCo, "
                    "or leave the field at its nominal value."
                )
        self._refuse_late_changes(domain, robots)
        self.domain = self.domain.replaced(robots, domain)
        self._delay.set_lag(robots, domain.motor_lag)
        self._apply_domain(robots, domain)

    def set_terrain(
        self, terrain: Terrain, robots: Sequence[int] | np.ndarray | None = None
    ) -> None:
        """Move and raise the boxes of some robots (default: all), from their next reset on.

        Side lengths stay as they were made: engines cannot resize solids.
        """
        robots = self._robots(robots)
        current = self.terrain[robots]
        if terrain.size.shape != current.size.shape:
            raise SoloError(
                f"The terrain has {terrain.num_boxes} boxes for {terrain.num_robots} robots, "
                f"expected {current.num_boxes} for {len(robots)}, as the simulator was made."
            )
        if (terrain.size[..., :2] != current.size[..., :2]).any():
            robot, box, _ = np.argwhere(terrain.size[..., :2] != current.size[..., :2])[0]
            raise SoloError(
                f"Box {box} of robot {robots[robot]} has sides {current.size[robot, box, :2]} and "
                f"is to get {terrain.size[robot, box, :2]}: only place and height can change."
            )
        self.terrain = self.terrain.replaced(robots, terrain)

    def possible_domain(
        self, domain: Domain, robots: Sequence[int] | np.ndarray | None = None
    ) -> Domain:
        """Return `domain`, with present values in the fields that these robots cannot change."""
        if not self._has_stepped or not self.constant_domain:
            return domain
        current = self.domain[self._robots(robots)]
        kept = {name: getattr(current, name) for name in self.constant_domain}
        return replace(domain, **kept)

    def reset(
        self,
        motion: Motion,
        robots: Sequence[int] | np.ndarray | None = None,
        target: Array | None = None,
    ) -> RobotState:
        """Put some robots (default: all) into given states; the others do not change.

        The motors hold `target` (default: the given joint positions) until the first delayed
        target arrives.
        Contact forces and torques read zero until the next step.
        """
        robots = self._robots(robots)
        check_motion(motion, robots)
        if target is not None:
            check_array("target", target, (len(robots), NUM_JOINTS), robots)
            check_joints("target", target, robots)
        else:
            target = motion.joint_position
        self._delay.reset(robots, target)
        self._reset(robots, motion)
        return self.state()

    def step(self, target: Array, push_w: Array | None = None) -> RobotState:
        """Hold joint targets (N, 12) for a control step; `push_w` (N, 3) are base forces [N]."""
        everyone = np.arange(self.num_robots)
        check_array("target", target, (self.num_robots, NUM_JOINTS), everyone)
        check_joints("target", target, everyone)
        if push_w is not None:
            check_array("push_w", push_w, (self.num_robots, 3), everyone)
        self._has_stepped = True
        self._step(self._delay.push(target), push_w)
        return self.state()

    def height_scan(self, motion: Motion) -> Array:
        """Return the ground height at `scan_points` around all robots, (N, 121) [m].

        `motion` is the present one, as `step`, `reset` or `state` returned it. An engine on a
        device computes the scan there, from its own state.
        """
        return self.terrain.height(scan_points(motion.base_position_w, motion.base_quaternion))

    def kick(self, robots: Sequence[int] | np.ndarray, linear_w: Array, angular_b: Array) -> None:
        """Change the base velocities of some robots instantly [m/s, rad/s]."""
        robots = self._robots(robots)
        check_array("linear_w", linear_w, (len(robots), 3), robots)
        check_array("angular_b", angular_b, (len(robots), 3), robots)
        self._kick(robots, linear_w, angular_b)

    def save(self) -> dict[str, np.ndarray]:
        """Return the state that an exact continuation needs; see `can_save`."""
        saved = {}
        for field in fields(self.domain):
            saved[f"domain.{field.name}"] = getattr(self.domain, field.name)
        saved["delay"] = self._delay.save()
        if self.terrain.num_boxes:
            saved["terrain.centre"] = self.terrain.centre.copy()
            saved["terrain.size"] = self.terrain.size.copy()
        return saved | self._save()

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from the result of `save`."""
        self.set_domain(
            Domain(**{field.name: saved[f"domain.{field.name}"] for field in fields(Domain)})
        )
        self._delay.load(saved["delay"])
        if self.terrain.num_boxes:
            self.set_terrain(Terrain(saved["terrain.centre"], saved["terrain.size"]))
        self._load(saved)

    def _make_delay(self, longest_lag: float) -> TargetDelay:
        """Return the motors' delay line; an engine may delay targets on its device."""
        config = self.config
        return TargetDelay(config.num_robots, config.physics_dt, config.decimation, longest_lag)

    def _save(self) -> dict[str, np.ndarray]:
        raise SoloError(
            f"{self.name} cannot save its state: its simulations cannot be resumed exactly."
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
        for name in sorted(self.constant_domain):
            current = getattr(self.domain, name)[robots]
            wanted = getattr(domain, name)
            if (current != wanted).any():
                row = np.argmax(current != wanted)
                raise SoloError(
                    f"{self.name} cannot change {name!r} once it has stepped: robot {robots[row]} "
                    f"has {current[row]} and is to get {wanted[row]}. Set it before the first "
                    "step, or leave it with `possible_domain`."
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
    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        """Place these robots, and their boxes as `self.terrain` has them."""

    @abstractmethod
    def _step(self, schedule: Array, push_w: Array | None) -> None:
        """Run the physics steps with targets (N, decimation, 12)."""

    @abstractmethod
    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None: ...


def assemble_state(motion: Motion, torque: Array, forces: Array) -> RobotState:
    """Return the full state of robots; `forces` (N, 17, 3) has the feet first [N]."""
    foot_position_w, foot_velocity_w = feet_in_world(motion)
    return RobotState(
        **vars(motion),
        torque=torque.copy(),
        foot_position_w=foot_position_w,
        foot_velocity_w=foot_velocity_w,
        foot_force_w=forces[:, :NUM_LEGS].copy(),
        body_force_w=forces[:, NUM_LEGS:].copy(),
    )
