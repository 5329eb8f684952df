"""Test by hand: a person turns each joint and lifts the nose.

Finds swapped joints, wrong directions, and a wrongly mounted IMU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.robots.odri.drivers.motors import joint_position
from deploy.robots.odri.wire.protocol import SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array

from .stillness import Stillness

TURNED = 0.2
"""Smallest angle by which the joint must be turned [rad]."""
CLEAR = 2.0
"""Smallest ratio of the turned joint's angle to that of any other joint."""
BACK = 0.1
"""Largest remaining angle of a joint that was turned back [rad]."""
LIFTED = 0.2
"""Smallest angle by which the nose must be lifted [rad]."""
QUESTION_SECONDS = 60.0
"""Timeout of each question to the person [s]."""
SMOOTH = 0.1
"""Time constant of the accelerometer's low-pass filter, since hands shake [s]."""
HOW = {
    "HAA": "swing the whole leg to the robot's left",
    "HFE": "swing the thigh backwards, shank in line with it",
    "KFE": "hold the thigh, swing the shank backwards",
}
"""Movements that turn each kind of joint in its positive direction, about x, y, y of the base."""
NOSE_WORDS = "Lift the robot's nose, about 20 degrees, then let it back."


@dataclass
class Answer:
    """Joint that moved after a person was asked to turn one."""

    asked: int
    """Number of the requested joint."""
    moved: int | None = None
    """Number of the joint that turned; None after the timeout."""
    angle: float = 0.0
    """Angle by which the joint turned [rad]."""


class HandTest:
    """Asks for one movement after another: one `step` per packet until `is_over`."""

    def __init__(self, joints: Sequence[int] = range(NUM_JOINTS)) -> None:
        """Test the joints with these numbers, then the nose."""
        self._joints = list(joints)
        self.answers: list[Answer] = []
        self.nose: dict[str, float] | None = None
        """Pitch of the lifted nose by filter and by accelerometer; up is negative [rad]."""
        self._time = 0.0
        self._still = Stillness()
        self._start: Array | None = None  # joint angles at the time of the question
        self._level = np.zeros(3)  # direction of up at that time
        self._attitude = np.zeros(3)  # attitude at that time
        self._returning: int | None = None
        self._up = np.array([0.0, 0.0, 1.0])
        self.is_over = False

    @property
    def question(self) -> str:
        """Instruction for the person; empty at the end."""
        if self.is_over:
            return ""
        if self._returning is not None:
            return f"Now put {JOINT_NAMES[self._returning]} back and let it rest."
        if len(self.answers) == len(self._joints):
            return NOSE_WORDS
        name = JOINT_NAMES[self._joints[len(self.answers)]]
        if self._start is None:
            return "Hands off: the joints must rest."
        return f"Turn {name}: {HOW[name[-3:]]}."

    def step(self, packet: SensorPacket) -> None:
        """Process a packet; motors are off."""
        position = joint_position(packet, np.zeros(NUM_JOINTS))
        self._up = self._up + TICK / SMOOTH * (packet.imu.acceleration - self._up)
        self._time += TICK
        if self._returning is not None or self._start is None:
            self._rest(position, packet)
        elif len(self.answers) < len(self._joints):
            self._judge_turn(position - self._start)
        else:
            self._judge_nose(packet)

    def result(self) -> dict[str, Any]:
        """Return the answers as JSON values."""
        return {
            "answers": [[answer.asked, answer.moved, answer.angle] for answer in self.answers],
            "nose": self.nose,
        }

    def _rest(self, position: Array, packet: SensorPacket) -> None:
        moved = self._returning
        is_back = True
        if moved is not None and self._start is not None:
            is_back = abs(position[moved] - self._start[moved]) < BACK
        if self._still.rests(position) and (is_back or self._time > QUESTION_SECONDS):
            self._start = position
            self._returning = None
            self._time = 0.0
            self._level = self._up
            self._attitude = packet.imu.attitude

    def _judge_turn(self, turned: Array) -> None:
        size = np.abs(turned)
        joint = int(np.argmax(size))
        others = float(np.delete(size, joint).max())
        asked = self._joints[len(self.answers)]
        if size[joint] >= TURNED and size[joint] >= CLEAR * others:
            self.answers.append(Answer(asked, joint, float(turned[joint])))
            self._returning = joint
        elif self._time > QUESTION_SECONDS:
            self.answers.append(Answer(asked))
            self._start = None
        else:
            return
        self._time = 0.0
        self._still = Stillness()

    def _judge_nose(self, packet: SensorPacket) -> None:
        up = self._up / np.linalg.norm(self._up)
        level = self._level / np.linalg.norm(self._level)
        if up @ level < np.cos(LIFTED):
            attitude = packet.imu.attitude - self._attitude
            # Nose up is a negative rotation about y; the base's x axis then points upwards.
            self.nose = {
                "accelerometer": float(np.arcsin(level[0]) - np.arcsin(up[0])),
                "filter": float(attitude[1]),
            }
            self.is_over = True
        self.is_over = self.is_over or self._time > QUESTION_SECONDS
