"""Simulated driver boards of twelve motors: alignment, index, control law, limits, errors.

The meaning of every bit and unit is that of the board's firmware. The drivers' own firmware was not
available, so the following is assumed: the duration of alignment, that it pulls the rotor to the
nearest pole, and that the first index since power-up stays the reference.
"""

from __future__ import annotations

from math import tau

import numpy as np

from deploy.common.known_defects import KnownDefects
from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.protocol import CommandPacket, Flags
from solo_doi.solo12.constants import Array, constant
from solo_doi.solo12.limits import MOTOR_CONSTANT

ALIGNMENT_TICKS = 400
"""Duration of the alignment of a motor after it is enabled [ticks]."""
POLE_PAIRS = 12
"""Number of rotor positions per turn to which alignment can pull."""
ALIGNMENT_CURRENT = 3.0
"""Current limit of alignment [A]."""
ALIGNMENT_KP = 10.0
"""Position gain of alignment [A/rad]."""
ALIGNMENT_KD = 0.05
"""Velocity gain of alignment [A s/rad]."""
COIL_RESISTANCE = 0.3
"""Resistance of a motor's coils, assumed [ohm]."""
ZEROS = constant(np.zeros(p.NUM_MOTORS))
UNLIMITED = constant(np.full(p.NUM_MOTORS, np.inf))
FULL_TURN = constant(np.full(p.NUM_MOTORS, tau))
"""One turn for each motor; numpy is twice as fast with it as with a scalar [rad]."""


def some(flags: Flags) -> bool:
    """Return True if any flag is set; four times as fast as `any` for few flags."""
    return bool(np.count_nonzero(flags))


class MotorDrivers:
    """Six motor drivers; angles and velocities are those of rotors, in the board's order."""

    def __init__(
        self, index_angle: Array, angle: Array, defects: KnownDefects | None = None
    ) -> None:
        """Power up with rotors at `angle`; indices are at `index_angle` plus whole turns [rad].

        `defects` are those of the sensors; None for drivers without defects.
        """
        self._index_angle = index_angle
        self._defects = defects
        self.current_offset = ZEROS if defects is None else defects.current_offset
        """Offset of each current sensor in what is reported, (12,) [A]."""
        self.dead: Flags = np.zeros(p.NUM_DRIVERS, dtype=bool)
        """True for drivers that do not answer, (6,)."""
        self.broken_encoder: Flags = np.zeros(p.NUM_MOTORS, dtype=bool)
        """True for motors with an encoder error, (12,)."""
        self.power_cycle(angle)

    def power_cycle(self, angle: Array) -> None:
        """Reset all state; encoders count from the present rotor angles."""
        self._zero = angle.copy()
        self._angle = angle.copy()
        self._turns = self._turns_at(angle)
        self._velocity = self._current = ZEROS
        self._measured_position = self._measured_velocity = ZEROS
        self._aligning = np.zeros(p.NUM_MOTORS, dtype=np.intp)  # remaining ticks
        self._pole = angle.copy()
        none = np.zeros(p.NUM_MOTORS, dtype=bool)
        self._enabled = self._aligns = self._ready = none
        self._seen = self._toggle = none
        self._index = ZEROS  # encoder count at the first index [rad]
        self._from_index = none  # motors that count from their index
        self._reference = ZEROS  # encoder count at which the reported position is zero [rad]
        self._lowest = -UNLIMITED  # limits of currents
        self._highest = UNLIMITED
        self._error = np.zeros(p.NUM_DRIVERS, dtype=np.intp)
        self._system = np.zeros(p.NUM_DRIVERS, dtype=bool)
        self._silent = 0  # ticks without a packet from the board
        self._command: CommandPacket | None = None

    def tick(self, command: CommandPacket | None) -> None:
        """Process the board's packet of this tick; None if the board sent none."""
        self._silent = 0 if command is not None else self._silent + 1
        if command is not None:
            self._system = command.system_on & ~self.dead
            if not self.any_enabled and not some(command.motors.enabled):
                self._error[:] = 0  # errors stay until the motors are switched off
            self._accept(command)
        self._find_errors()
        self._switch()

    def currents(self, angle: Array, velocity: Array) -> Array:
        """Return the motor currents at these rotor states, (12,) [A]."""
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
        if number < p.NUM_MOTORS:
            current = np.where(self._enabled, current, ZEROS)
        self._current = current
        return current

    def observe(self, angle: Array, velocity: Array) -> None:
        """Update the encoders; called after every physics step."""
        before = self._turns
        after = self._turns_at(angle)
        crossed = before != after
        if some(crossed):
            at = self._index_angle + tau * np.maximum(before, after) - self._zero
            first = crossed & ~self._seen
            self._index = np.where(first, at, self._index)
            self._seen = self._seen | crossed
            self._toggle = self._toggle ^ crossed
            self._choose_reference()
        self._angle = angle
        self._velocity = velocity
        self._turns = after

    def measure(self) -> None:
        """Measure positions and velocities for the packet of this tick, with all defects."""
        angle = self._angle - self._zero
        self._measured_position = self._reported(self._angle)
        self._measured_velocity = self._velocity
        defects = self._defects
        if defects is None:
            return
        self._measured_position = defects.position(angle) - self._reference
        self._measured_velocity = defects.velocity(angle, self._velocity)
        if defects.zero_frame():
            self._measured_position = ZEROS

    @property
    def electrical_power(self) -> float:
        """Power from the battery: mechanical work and heat of the coils [W]."""
        work = MOTOR_CONSTANT * float(self._current @ self._velocity)
        heat = COIL_RESISTANCE * float(self._current @ self._current)
        return work + heat

    @property
    def answering(self) -> int:
        """Bit mask of the drivers that answer the board."""
        return sum(1 << driver for driver in range(p.NUM_DRIVERS) if not self.dead[driver])

    @property
    def any_enabled(self) -> bool:
        """True if a motor is switched on."""
        return some(self._enabled)

    @property
    def calibrated(self) -> bool:
        """True if all motors count positions from their index."""
        return np.count_nonzero(self._from_index) == p.NUM_MOTORS

    def reading(self) -> dict[str, np.ndarray]:
        """Return the drivers' part of a sensor packet, by field."""
        error = self._error.copy()
        if some(self.dead):
            error[self.dead] = p.ERROR_NO_ANSWER
        return {
            "system_on": self._system,
            "error": error,
            "enabled": self._enabled,
            "ready": self._ready,
            "index_seen": self._seen,
            "index_toggle": self._toggle,
            "position": self._measured_position,
            "velocity": self._measured_velocity,
            "current": self._current + self.current_offset,
        }

    def _reported(self, angle: Array) -> Array:
        return angle - self._zero - self._reference

    def _turns_at(self, angle: Array) -> Array:
        """Return the number of whole turns from the index."""
        return np.floor((angle - self._index_angle) / FULL_TURN)

    def _accept(self, command: CommandPacket) -> None:
        """Store a new command, with its current limits and position references."""
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
        self._enabled = wanted
        self._ready = wanted & ~self._aligns
