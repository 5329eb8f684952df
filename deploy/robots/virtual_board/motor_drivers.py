"""Six driver boards with twelve motors: alignment, encoder index, control law, limits, status, errors.

Written from the board's side of the wire. Read from the firmware: meaning of every bit and unit. Assumed, because
the drivers' own firmware was not read: how long alignment takes, that it pulls the rotor to the nearest pole, and
that the first index since power-up stays the reference.
"""

from __future__ import annotations

from math import tau

import numpy as np

from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.protocol import CommandPacket, Flags
from solo_doi.solo12.constants import Array, constant
from solo_doi.solo12.limits import MOTOR_CONSTANT

ALIGNMENT_TICKS = 400
"""How long a motor that was enabled moves by itself before it is ready [ms]."""
POLE_PAIRS = 12
"""Rotor positions to which alignment may pull."""
ALIGNMENT_CURRENT = 3.0
"""[A]"""
ALIGNMENT_KP, ALIGNMENT_KD = 10.0, 0.05
"""[A/rad], [A s/rad]"""
COIL_RESISTANCE = 0.3
"""Assumed [ohm]."""
ZEROS, UNLIMITED = constant(np.zeros(p.NUM_MOTORS)), constant(np.full(p.NUM_MOTORS, np.inf))
TURN = constant(np.full(p.NUM_MOTORS, tau))
"""For every motor: numpy takes twice as long over one plain number."""


def some(flags: Flags) -> bool:
    """Whether any of a few flags is set, in a quarter of the time of `any`."""
    return bool(np.count_nonzero(flags))


class MotorDrivers:
    """State of the drivers; angles and velocities are the rotors' true ones, in the board's order."""

    def __init__(self, index_angle: Array, angle: Array) -> None:
        """Power up with rotors at `angle`; index pulses come at `index_angle` and every whole turn from it [rad]."""
        self._index_angle = index_angle
        self.dead: Flags = np.zeros(p.NUM_DRIVERS, dtype=bool)
        """Drivers that do not answer."""
        self.broken_encoder: Flags = np.zeros(p.NUM_MOTORS, dtype=bool)
        """Motors whose encoder reports an error."""
        self.power_cycle(angle)

    def power_cycle(self, angle: Array) -> None:
        """Forget everything; encoders count from where the rotors are."""
        self._zero, self._angle = angle.copy(), angle.copy()
        self._turns = self._turns_at(angle)
        self._velocity = self._current = ZEROS
        self._aligning = np.zeros(p.NUM_MOTORS, dtype=np.intp)  # ticks left
        self._pole = angle.copy()
        none = np.zeros(p.NUM_MOTORS, dtype=bool)
        self._enabled = self._aligns = self._ready = none
        self._seen = self._toggle = none
        self._index = ZEROS  # counter at the first index
        self._from_index, self._reference = none, ZEROS  # whether and from where positions count
        self._lowest, self._highest = -UNLIMITED, UNLIMITED  # commanded currents
        self._error = np.zeros(p.NUM_DRIVERS, dtype=np.intp)
        self._system = np.zeros(p.NUM_DRIVERS, dtype=bool)
        self._silent = 0  # ticks without a packet from the board
        self._command: CommandPacket | None = None

    def tick(self, command: CommandPacket | None) -> None:
        """Take this tick's packet from the board, if it sent one."""
        self._silent = 0 if command is not None else self._silent + 1
        if command is not None:
            self._system = command.system_on & ~self.dead
            if not self.any_enabled and not some(command.motors.enabled):
                self._error[:] = 0  # errors stay until the motors were switched off
            self._take(command)
        self._find_errors()
        self._switch()

    def currents(self, angle: Array, velocity: Array) -> Array:
        """Currents (12,) the drivers make at these rotor states; called at their own rate [A]."""
        number = np.count_nonzero(self._enabled)
        if self._command is None or number == 0:
            self._current = ZEROS
            return ZEROS
        motors = self._command.motors
        wanted = (
            motors.current
            + motors.kp * (motors.position - self._reported(angle))
            + motors.kd * (motors.velocity - velocity)
        )
        current = np.minimum(np.maximum(wanted, self._lowest), self._highest)
        if some(self._aligns):
            pull = ALIGNMENT_KP * (self._pole - angle) - ALIGNMENT_KD * velocity
            current = np.where(
                self._aligns, np.clip(pull, -ALIGNMENT_CURRENT, ALIGNMENT_CURRENT), current
            )
        self._current = (
            current if number == p.NUM_MOTORS else np.where(self._enabled, current, ZEROS)
        )
        return self._current

    def observe(self, angle: Array, velocity: Array) -> None:
        """Count encoders to where the rotors went; called after every physics step."""
        before, after = self._turns, self._turns_at(angle)
        crossed = before != after
        if some(crossed):
            at = self._index_angle + tau * np.maximum(before, after) - self._zero
            first = crossed & ~self._seen
            self._index = np.where(first, at, self._index)
            self._seen = self._seen | crossed
            self._toggle = self._toggle ^ crossed
            self._choose_reference()
        self._angle, self._velocity, self._turns = angle, velocity, after

    @property
    def electrical_power(self) -> float:
        """What the motors take from the battery: work and heat of the coils [W]."""
        current = self._current
        return MOTOR_CONSTANT * float(current @ self._velocity) + COIL_RESISTANCE * float(
            current @ current
        )

    @property
    def answering(self) -> int:
        """Which drivers answer the board, as bits."""
        return sum(1 << driver for driver in range(p.NUM_DRIVERS) if not self.dead[driver])

    @property
    def any_enabled(self) -> bool:
        """Whether a motor is switched on."""
        return some(self._enabled)

    @property
    def calibrated(self) -> bool:
        """Whether all motors report positions from their index."""
        return np.count_nonzero(self._from_index) == p.NUM_MOTORS

    def reading(self) -> dict[str, np.ndarray]:
        """Return the drivers' part of a sensor packet, by field."""
        return {
            "system_on": self._system,
            "error": np.where(self.dead, p.ERROR_NO_ANSWER, self._error)
            if some(self.dead)
            else self._error.copy(),
            "enabled": self._enabled,
            "ready": self._ready,
            "index_seen": self._seen,
            "index_toggle": self._toggle,
            "position": self._reported(self._angle),
            "velocity": self._velocity,
            "current": self._current,
        }

    def _reported(self, angle: Array) -> Array:
        return angle - self._zero - self._reference

    def _turns_at(self, angle: Array) -> Array:
        """Whole turns from the index."""
        return np.floor((angle - self._index_angle) / TURN)

    def _take(self, command: CommandPacket) -> None:
        """Prepare what all evaluations of the control law with a command have in common."""
        if command is not self._command:
            self._command = command
            self._highest = command.motors.saturation
            if np.count_nonzero(self._highest) < p.NUM_MOTORS:  # 0 switches the limit off
                self._highest = np.where(self._highest > 0, self._highest, UNLIMITED)
            self._lowest = -self._highest
            self._choose_reference()

    def _choose_reference(self) -> None:
        if self._command is not None:
            self._from_index = self._command.motors.compensate_index & self._seen
            self._reference = np.where(self._from_index, self._index, ZEROS)

    def _find_errors(self) -> None:
        if some(self.broken_encoder):
            for motor in np.flatnonzero(self.broken_encoder):
                self._error[motor // 2] = p.ERROR_ENCODER[motor % 2]
        if self._command is not None and self._silent > 0:
            limit = self._command.timeout_ms
            late = (limit > 0) & (self._silent > limit)
            self._error = np.where(late, p.ERROR_TIMEOUT, self._error)

    def _switch(self) -> None:
        if self._command is None:
            return
        usable = self._system & (self._error == 0) & ~self.dead
        wanted = self._command.motors.enabled & usable.repeat(2)
        if not some(wanted != self._enabled) and not some(self._aligns):
            return
        started = wanted & ~self._enabled
        self._aligning = np.where(started, ALIGNMENT_TICKS, np.maximum(self._aligning - 1, 0))
        self._aligns = self._aligning > 0
        pole = tau / POLE_PAIRS
        self._pole = np.where(started, np.rint(self._angle / pole) * pole, self._pole)
        self._enabled, self._ready = wanted, wanted & ~self._aligns
