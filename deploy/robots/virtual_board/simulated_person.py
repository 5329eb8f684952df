"""Simulated person beside the robot: holds joints, puts them to zero, turns them one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array

from .plant import Plant

PUT_BACK_TIME = 1.0
"""Time to put all joints to a pose [s]."""
TURN_ANGLE = 0.4
"""Angle by which one joint is turned [rad]."""
TURN_TIME = 0.4
"""Time to turn a joint, and time to turn it back [s]."""
JOINT_PAUSE = 0.8
"""Pause after each joint [s]."""
NOSE_UP = 0.4
"""Angle by which the nose is lifted [rad]."""
NOSE_TIME = 1.0
"""Time to lift the nose, and time to lower it [s]."""


@dataclass(frozen=True, kw_only=True)
class PersonConfig:
    """Actions of the person."""

    holds: bool = True
    """Hold the joints in place until the motors are switched on."""
    puts_back: Array | None = None
    """Pose to which the joints are moved after the motors are switched off [rad].

    If None, the joints are not moved.
    """
    turns_after: float | None = None
    """Time from the PC's connection until each joint is turned and the nose lifted [s].

    If None, the person does neither.
    """


class SimulatedPerson:
    """Person who handles the robot while the motors are off, one `tick` per millisecond."""

    def __init__(self, plant: Plant, config: PersonConfig) -> None:
        """Hold the robot as configured."""
        self._plant = plant
        self._config = config
        self._holds = config.holds
        self._motors_on = False
        self._pose = plant.joint_position  # pose in which the joints are held
        self._from: Array | None = None  # pose from which they are put back
        self._since = self._connected = 0.0
        plant.hold_joints(held=config.holds)

    def tick(self, *, motors_on: bool, connected: bool) -> None:
        """Act for a millisecond."""
        if connected:
            self._connected += TICK
        if motors_on != self._motors_on:
            self._motors_on = motors_on
            self._switched(motors_on)
        if self._from is not None:
            self._put_back(self._from)
        elif self._holds and self._config.turns_after is not None:
            self._turn(self._connected - self._config.turns_after)

    def _switched(self, motors_on: bool) -> None:
        self._holds = not motors_on and self._config.puts_back is not None
        self._from = self._plant.joint_position if self._holds else None
        self._since = 0.0
        self._plant.hold_joints(held=self._holds)

    def _put_back(self, start: Array) -> None:
        assert self._config.puts_back is not None
        self._since += TICK
        share = min(self._since / PUT_BACK_TIME, 1.0)
        self._pose = start + share * (self._config.puts_back - start)
        self._plant.put_joints(self._pose)
        if share == 1.0:
            self._from = None

    def _turn(self, time: float) -> None:
        if time < 0.0:
            return
        period = 2 * TURN_TIME + JOINT_PAUSE
        joint = int(time / period)
        if joint < NUM_JOINTS:
            moved = TURN_ANGLE * _there_and_back(time - joint * period, TURN_TIME)
            self._plant.put_joints(self._pose + moved * (np.arange(NUM_JOINTS) == joint))
        else:
            self._plant.crane.pitch = -NOSE_UP * _there_and_back(
                time - NUM_JOINTS * period, NOSE_TIME
            )


def _there_and_back(time: float, duration: float) -> float:
    """Return a triangle: from 0 to 1 within `duration` [s], then back to 0 in the same time."""
    return max(0.0, min(time / duration, 2.0 - time / duration))
