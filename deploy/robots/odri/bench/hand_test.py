"""Which joint answers when a person turns one, and in which direction; and where the IMU thinks that up is."""

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
"""Angle from which on a joint was turned on purpose [rad]."""
CLEAR = 2.0
"""How many times further than any other joint it must have turned."""
BACK = 0.1
"""Angle within which it was put back [rad]."""
LIFTED = 0.2
"""Angle from which on the nose was lifted [rad]."""
ANSWER_SECONDS = 60.0
"""How long a person is waited for, per question [s]."""
SMOOTH = 0.1
"""Time constant of the accelerometer's direction: hands shake [s]."""
HOW = {
    "HAA": "swing the whole leg to the robot's left",
    "HFE": "swing the thigh backwards, shank in line with it",
    "KFE": "hold the thigh, swing the shank backwards",
}
"""Movements that turn each joint in its positive direction: about x, y and y of the base."""
NOSE_WORDS = "Lift the robot's nose, about 20 degrees, then let it back."


@dataclass
class Answer:
    """What moved when one joint was asked for."""

    asked: int
    """Joint."""
    moved: int | None = None
    """Joint that turned; None if none did in time."""
    angle: float = 0.0
    """By which [rad]."""


class HandTest:
    """One `step` per packet until `is_over`."""

    def __init__(self, joints: Sequence[int] = range(NUM_JOINTS)) -> None:
        """Ask for these joints, then for the nose."""
        self._joints = list(joints)
        self.answers: list[Answer] = []
        self.nose: dict[str, float] | None = None
        """Once lifted: pitch as the IMU's filter has it and as its accelerometer shows it; nose up is negative."""
        self._time = 0.0
        self._still = Stillness()
        self._start: Array | None = None  # joints when the question was asked
        self._level, self._attitude = np.zeros(3), np.zeros(3)  # up and attitude then
        self._returning: int | None = None
        self._up = np.array([0.0, 0.0, 1.0])
        self.is_over = False

    @property
    def question(self) -> str:
        """What a person is asked to do."""
        if self.is_over:
            return ""
        if self._returning is not None:
            return f"Now put {JOINT_NAMES[self._returning]} back and let it rest."
        if len(self.answers) == len(self._joints):
            return NOSE_WORDS
        name = JOINT_NAMES[self._joints[len(self.answers)]]
        return (
            "Hands off: the joints must rest."
            if self._start is None
            else f"Turn {name}: {HOW[name[-3:]]}."
        )

    def step(self, packet: SensorPacket) -> None:
        """Look at a packet; motors are off."""
        position = joint_position(packet, np.zeros(NUM_JOINTS))
        self._up = self._up + TICK / SMOOTH * (packet.imu.acceleration - self._up)
        self._time += TICK
        if self._returning is not None or self._start is None:
            self._rest(position, packet)
        elif len(self.answers) < len(self._joints):
            self._look(position - self._start)
        else:
            self._look_at_nose(packet)

    def result(self) -> dict[str, Any]:
        """What was found, as plain values."""
        return {
            "answers": [[answer.asked, answer.moved, answer.angle] for answer in self.answers],
            "nose": self.nose,
        }

    def _rest(self, position: Array, packet: SensorPacket) -> None:
        moved = self._returning
        back = (
            moved is None or self._start is None or abs(position[moved] - self._start[moved]) < BACK
        )
        if self._still.rests(position) and (back or self._time > ANSWER_SECONDS):
            self._start, self._returning, self._time = position, None, 0.0
            self._level, self._attitude = self._up, packet.imu.attitude

    def _look(self, turned: Array) -> None:
        size = np.abs(turned)
        joint = int(np.argmax(size))
        others = float(np.delete(size, joint).max())
        asked = self._joints[len(self.answers)]
        if size[joint] >= TURNED and size[joint] >= CLEAR * others:
            self.answers.append(Answer(asked, joint, float(turned[joint])))
            self._returning = joint
        elif self._time > ANSWER_SECONDS:
            self.answers.append(Answer(asked))
            self._start = None
        else:
            return
        self._time, self._still = 0.0, Stillness()

    def _look_at_nose(self, packet: SensorPacket) -> None:
        up, level = self._up / np.linalg.norm(self._up), self._level / np.linalg.norm(self._level)
        if up @ level < np.cos(LIFTED):
            attitude = packet.imu.attitude - self._attitude
            # Nose up is a negative turn about y, after which the base's x axis points a little up.
            self.nose = {
                "accelerometer": float(np.arcsin(level[0]) - np.arcsin(up[0])),
                "filter": float(attitude[1]),
            }
            self.is_over = True
        self.is_over = self.is_over or self._time > ANSWER_SECONDS
