"""Settings of a deployment."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .safety_config import SafetyConfig

RobotName = Literal["pybullet", "mujoco", "mock", "virtual", "real"]
DEFAULT_ROBOT: RobotName = "pybullet" if sys.version_info < (3, 12) else "mujoco"
"""Robot of dry runs: PyBullet where it has wheels."""
OperatorName = Literal["script", "keyboard", "gamepad", "page"]
CONFIG_FILE = "config.yaml"
"""Resolved settings, in the folder of a deployment."""
ROBOT_REPORT_FILE = "robot.json"
"""Report that the robot process writes at its end."""
KEY_FILE = "key"
"""Key of a dry run, in the folder of a deployment."""
DEFAULT_URL = "udpm://239.255.76.67:7667?ttl=0"
"""LCM multicast address; messages stay on the loopback interface, at any ttl."""


@dataclass(frozen=True, kw_only=True)
class ControllerConfig:
    """Settings of the controller."""

    power_seconds: float = 0.3
    """Duration of the position gain's ramp when motors are switched on [s]."""
    stand_seconds: float = 1.5
    """Duration of standing up [s]."""
    stop_seconds: float = 0.8
    """Duration of a stop: steps shrink to zero, so that the feet end under the hips [s]."""
    sit_seconds: float = 1.5
    """Duration of lying down [s]."""
    pose_kd: float = 0.2
    """Velocity gain while standing up, standing and lying down [N m s/rad]."""
    command_rate: float = 1.0
    """Largest change of a velocity command [m/s or rad/s, per second]."""
    safety: SafetyConfig = field(default_factory=SafetyConfig)
    """Thresholds of the safety checks."""


@dataclass(frozen=True, kw_only=True)
class DeployConfig:
    """Settings that all processes of a deployment share."""

    bundle: Path | None = None
    """Bundle written by solo-export, or name of a shipped bundle; `locomotion` by default."""
    skill: int = 0
    """Skill to walk with, counted from 0."""
    then: tuple[int, ...] = ()
    """Further skills; the script switches to them while walking."""
    robot: RobotName = DEFAULT_ROBOT
    """Robot backend: PyBullet (the default up to Python 3.11), MuJoCo (the default from 3.12 on), a
    robot without physics, a virtual master board, or hardware."""
    seconds: float = 10.0
    """Duration of the walk with each skill; at least 1.5 s in total, except with --mock [s]."""
    distance: float | None = None
    """Stop a walk at this estimated distance from its start, in any direction; no bound by default.
    The stop takes 0.8 s, so the robot comes to rest beyond it [m]."""
    operator: OperatorName = "script"
    """Source of requests: a script (it asks for consent on hardware), keyboard, gamepad, or the
    page of --view."""
    view: bool = False
    """Serve a page on this computer: state, margins, plots and a stop button. --operator page also
    drives there."""
    view_port: int = 0
    """Port of the page; 0 takes a free one."""
    dead_man: bool = False
    """Gamepad: require the right shoulder button; releasing it damps until START re-arms."""
    velocity: tuple[float, float, float] | None = None
    """Velocity command, for bundles that take one [m/s, m/s, rad/s]."""
    fast: bool = False
    """Run in lock-step, as fast as possible and reproducibly, instead of in real time."""
    headless: bool = False
    """Simulate without a window."""
    readonly: bool = False
    """Read sensors and estimate for `seconds`, without sending commands."""
    force: bool = False
    """Allow skills that their evaluation rejected."""
    seed: int = 0
    """Seed of the simulated sensor noise."""
    ideal: bool = False
    """Simulate sensors without the defects that real boards are known to have."""
    defect_seed: int | None = None
    """Seed of these defects; drawn at random and printed by default."""
    url: str = DEFAULT_URL
    """LCM address; every robot on a host needs its own port."""
    allow_jitter: bool = False
    """Real robot: start without the right to real-time scheduling."""
    skip_check: bool = False
    """Real robot: start without a GO of today's --check."""
    interface: str | None = None
    """Network interface of the real robot's master board."""
    driver: Literal["native", "sdk"] = "native"
    """Driver of the master board: native (protocols 3 and 4) or the vendor's SDK (3 only)."""
    robot_python: Path | None = None
    """Python of the robot process, from `solo-deploy install-robot`; this Python by default."""
    protocol: Literal[3, 4] = 4
    """Protocol of the virtual master board; hardware reports its own."""
    calibration: Path | None = None
    """File with the real robot's encoder offsets, written by `solo-deploy calibrate`."""
    key: Path | None = None
    """Secret key for signing messages, from `solo-deploy keygen`; a dry run makes its own."""
    trust: Path | None = None
    """Public key; bundles without its owner's signature are refused. See `solo-export sign`."""
    controller: ControllerConfig = field(default_factory=ControllerConfig)
    """Settings of the controller."""

    @property
    def interactive(self) -> bool:
        """True if a person requests motion: with a device, and always on hardware."""
        return self.operator != "script" or self.robot == "real"

    @property
    def shows_page(self) -> bool:
        """True if the deployment serves a page: asked for, or needed to drive."""
        return self.view or self.operator == "page"
