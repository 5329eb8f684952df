"""The person beside the simulated robot: holds its joints, puts them back to zero, moves them when asked to by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array

from .plant import Plant

PUT_BACK_TIME = 1.0
"""How long it takes to put all joints where they belong [s]."""
TURN, TURN_TIME, REST = 0.4, 0.4, 0.8
"""Angle by which one joint is turned [rad], time there and time back, and the pause after it [s]."""
NOSE_UP, NOSE_TIME = 0.4, 1.0
"""Angle by which the nose is lifted in the end [rad], time there and time back [s]."""


@dataclass(frozen=True, kw_only=True)
class PersonConfig:
    """What the person does."""

    holds: bool = True
    """Whether the joints are held where they are until the motors are switched on."""
    puts_back: Array | None = None
    """Pose into which the joints are put when the motors were switched off; nobody does if not given [rad]."""
    turns_after: float | None = None
    """When, after a PC has connected, every joint is turned once, in our order, and then the nose is lifted [s]."""


class SimulatedPerson:
    """Acts once per tick. Motors that are on are left alone."""

    def __init__(self, plant: Plant, config: PersonConfig) -> None:
        """Take hold of the robot."""
        self._plant, self._config = plant, config
        self._holds = config.holds
        self._motors_on = False
        self._pose = plant.joint_position  # where the joints are held, and
        self._from: Array | None = None  # where they come from while they are put back
        self._since = self._connected = 0.0
        plant.hold_joints(held=config.holds)

    def tick(self, *, motors_on: bool, connected: bool) -> None:
        """Do what there is to do in this millisecond."""
        self._connected += TICK if connected else 0.0
        if motors_on != self._motors_on:
            self._motors_on = motors_on
            self._switched(motors_on)
        if self._from is not None:
            self._put_back(self._from)
        elif self._holds and self._config.turns_after is not None:
            self._turn(self._connected - self._config.turns_after)

    def _switched(self, motors_on: bool) -> None:  # the thing that happened
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
        period = 2 * TURN_TIME + REST
        joint = int(time / period)
        if joint < NUM_JOINTS:
            moved = TURN * _there_and_back(time - joint * period, TURN_TIME)
            self._plant.put_joints(self._pose + moved * (np.arange(NUM_JOINTS) == joint))
        else:
            self._plant.crane.pitch = -NOSE_UP * _there_and_back(
                time - NUM_JOINTS * period, NOSE_TIME
            )


def _there_and_back(time: float, duration: float) -> float:
    """Rise from 0 to 1 in a duration, and fall back in another."""
    return max(0.0, min(time / duration, 2.0 - time / duration))
