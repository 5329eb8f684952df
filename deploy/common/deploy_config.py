"""What a deployment is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .safety_config import SafetyConfig

RobotName = Literal["pybullet", "mock", "virtual", "real"]
OperatorName = Literal["script", "keyboard", "gamepad"]
CONFIG_FILE, KEY_FILE = "config.yaml", "key"
DEFAULT_URL = "udpm://239.255.76.67:7667?ttl=0"
"""LCM multicast that does not leave this host."""


@dataclass(frozen=True, kw_only=True)
class ControllerConfig:
    """How the controller moves the robot."""

    power_seconds: float = 0.3
    """Duration in which the position gain grows from nothing when motors are switched on."""
    stand_seconds: float = 1.5
    """Duration of standing up."""
    stop_seconds: float = 0.8
    """Duration in which steps shrink to nothing before the robot stands: feet end where they belong."""
    sit_seconds: float = 1.5
    """Duration of lying down."""
    pose_kd: float = 0.2
    """Velocity gain while standing up, standing and lying down [N m s/rad]."""
    command_rate: float = 1.0
    """Largest change of a velocity command [m/s or rad/s, per second]."""
    safety: SafetyConfig = field(default_factory=SafetyConfig)


@dataclass(frozen=True, kw_only=True)
class DeployConfig:
    """Everything the processes of a deployment must agree on."""

    bundle: Path | None = None
    """Skills written by solo-export, or the name of skills that come with the package; `locomotion` by default."""
    skill: int = 0
    """Skill to walk with, counted from 0."""
    then: tuple[int, ...] = ()
    """Further skills, to which the script switches while walking."""
    robot: RobotName = "pybullet"
    """Who answers over LCM: a simulation, a robot without physics, a virtual master board, or the real Solo12."""
    seconds: float = 10.0
    """How long the script walks with each skill; 1.5 s in all, mock aside, or nobody could tell whether it walked."""
    operator: OperatorName = "script"
    """Who asks for standing, walking and stopping: a script, which asks you before a real robot does, or a person."""
    dead_man: bool = False
    """Gamepad: the right shoulder button must be held; letting go damps at once, until somebody re-arms."""
    velocity: tuple[float, float, float] | None = None
    """Velocity command [m/s, m/s, rad/s], for bundles that take one."""
    fast: bool = False
    """Lock-step as fast as the machine can, with the same numbers every time; without it, real time."""
    headless: bool = False
    """Simulate without a window."""
    readonly: bool = False
    """Sense and estimate for `seconds`, but never command."""
    force: bool = False
    """Walk with a skill although its evaluation rejected it."""
    seed: int = 0
    """Of the simulated sensors' noise."""
    url: str = DEFAULT_URL
    """Where LCM meets; other robots on this host need another port."""
    interface: str | None = None
    """Network card that the real robot's master board is plugged into."""
    driver: Literal["native", "sdk"] = "native"
    """Way to the master board: our own, for protocols 3 and 4, or the vendor's library, for 3."""
    robot_python: Path | None = None
    """Interpreter of the robot process, made by `solo-deploy install-robot`; this one by default."""
    protocol: Literal[3, 4] = 4
    """What the virtual master board speaks; a real one is asked."""
    calibration: Path | None = None
    """Where the real robot's index pulses are; where `solo-deploy calibrate` writes them by default."""
    key: Path | None = None
    """Secret that commands are signed with, drawn by `solo-deploy keygen`; a dry run draws its own."""
    trust: Path | None = None
    """Public key; bundles without a signature of its owner are refused. See `solo-export sign`."""
    controller: ControllerConfig = field(default_factory=ControllerConfig)

    @property
    def by_person(self) -> bool:
        """Whether a person at this terminal or a gamepad makes the robot move: always, if it is the real one."""
        return self.operator != "script" or self.robot == "real"
