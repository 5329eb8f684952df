"""Bring-up from power-on to calibrated joints, as stages that never block.

Each tick takes one packet and returns one command.

    CHECK   motors off; read the zero pose in which a person has put the joints
    ALIGN   motors enabled; the drivers move the rotors themselves
    SEARCH  one group of joints swings until each has passed an index pulse
    SETTLE  that group is damped while its positions change to count from the index; a position
            target would jump
    FOLD    calibrated joints move gently to the folded pose
    DONE    all joints are calibrated and hold the folded pose
    FAILED  all motors that were on are damped in every further tick

Legs are calibrated before hips: folded legs do not hit the stand from which the robot hangs.
"""

from __future__ import annotations

import numpy as np

from deploy.common.robot_constants import DAMPING_GAIN, TICK
from deploy.robots.odri.drivers.motors import (
    MOTOR_OF_JOINT,
    driver_of_joint,
    joint_position,
    motor_command,
)
from deploy.robots.odri.wire.protocol import Flags, MotorCommand, SensorPacket, error_text
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array, symmetric_pose
from solo_doi.solo12.state import JointCommand

from .bring_up_guard import BringUpGuard
from .bring_up_stage import Stage
from .calibration import Calibration, CalibrationError
from .index_search import IndexSearch

KP = 4.0
"""Position gain of all movements in bring-up [N m/rad]."""
KD = 0.1
"""Velocity gain of all movements in bring-up [N m s/rad]."""
CURRENT = 6.0
"""Current limit in bring-up: half of the limit while walking [A]."""
FOLDED_POSE = symmetric_pose(0.0, 1.2, -2.4)
"""Final pose, for putting the robot on the ground; as in the vendor's driver file [rad]."""
REST_TIME = 2.0
"""Duration of damping between a failure and its report, so that joints come to rest [s]."""
ALIGN_LIMIT = 3.0
"""Longest time for the alignment of rotors [s]."""
SETTLE_TIME = 0.15
"""Duration of damping before positions change to count from the index [s]."""
COMPENSATE_TIME = 0.05
"""Time for the drivers to report positions that count from the index [s]."""
FOLD_TIME = 1.5
"""Duration of folding [s]."""
BRING_UP_SILENCE = 0.02
"""Longest time without measurements: by then the board has switched the motors off [s]."""
LARGEST_ERROR = 0.5
"""Largest distance of a joint from its target; a larger one means that it is blocked [rad]."""
IS_HIP = np.array([name.endswith("HAA") for name in JOINT_NAMES])
GROUPS = (~IS_HIP, IS_HIP)


class BringUp:
    """State machine of bring-up: `step` takes a packet and returns the command to send."""

    def __init__(self, calibration: Calibration | None) -> None:
        """Start with motors off; without a calibration, measure index angles from the zero pose."""
        self._calibration = calibration
        self.stage = Stage.CHECK
        self.cause = ""
        """Stage and cause of the failure, as text; empty without a failure."""
        self.offset: Array = np.zeros(NUM_JOINTS)
        """Joint angles at motor position zero, (12,); final in stage DONE [rad]."""
        self.compensated: Flags = np.zeros(NUM_JOINTS, dtype=bool)
        """True for joints whose position counts from their index, (12,)."""
        self._resolved: Flags = np.zeros(NUM_JOINTS, dtype=bool)
        self._time = 0.0  # time in this stage
        self._silence = 0.0
        self._guard = BringUpGuard()
        self._checked_time = 0.0  # since the first measurement
        self._group = 0
        self._search: IndexSearch | None = None
        # Positions in the zero pose and at the index, both as counted before compensation.
        self._start = np.zeros(NUM_JOINTS)
        self._index_position = np.full(NUM_JOINTS, np.nan)
        self._from = np.zeros(NUM_JOINTS)
        self._target = np.zeros(NUM_JOINTS)
        self._packet: SensorPacket | None = None
        # Enabling a motor moves its rotor, so motors that are off stay off after a failure.
        self._powered = False

    @property
    def is_done(self) -> bool:
        """True if all joints are calibrated and follow commands."""
        return self.stage is Stage.DONE

    @property
    def powered(self) -> bool:
        """True if motors are on; only then are they damped, since switching them on moves them."""
        return self._powered

    @property
    def resolved(self) -> Flags:
        """True for joints with known angles, (12,)."""
        return self._resolved

    @property
    def searching(self) -> Flags:
        """True for joints that swing in search of their index, (12,)."""
        return GROUPS[self._group] & (self.stage is Stage.SEARCH)

    @property
    def is_over(self) -> bool:
        """True if bring-up failed and the joints had time to come to rest."""
        return self.stage is Stage.FAILED and self._time > REST_TIME

    @property
    def measured_offset(self) -> Array:
        """Joint angles of the index pulses, from the start pose, (12,); NaN if not found [rad]."""
        return self._index_position - self._start

    def give_up(self, cause: str) -> None:
        """Fail with a cause; keep the first cause."""
        if self.stage is not Stage.FAILED:
            self._fail(cause)

    def blocked(self, packet: SensorPacket) -> str:
        """Return a text about a joint held too far from its target; empty if there is none."""
        behind = np.abs(self._target - joint_position(packet, self.offset))
        held = self._gain() > 0
        if not (held & (behind > LARGEST_ERROR)).any():
            return ""
        joint = int(np.argmax(held * behind))
        return f"{JOINT_NAMES[joint]} is {behind[joint]:.2f} rad behind its target: is it blocked?"

    def step(self, packet: SensorPacket | None, silence: float) -> MotorCommand:
        """Process the packet of this tick and return the command to send.

        `silence` is the time since the last packet, for ticks without one [s].
        """
        self._time += TICK
        self._silence = 0.0 if packet is not None else silence
        self._packet = packet or self._packet
        if self.stage not in (Stage.DONE, Stage.FAILED):
            self._watch()
        advance = {
            Stage.CHECK: self._check,
            Stage.ALIGN: self._align,
            Stage.SEARCH: self._search_index,
            Stage.SETTLE: self._settle,
            Stage.FOLD: self._fold,
        }.get(self.stage)
        if advance is not None and self._packet is not None:
            position = joint_position(self._packet, self.offset)
            seen = self._packet.index_seen[MOTOR_OF_JOINT]
            first = np.where(np.isnan(self._index_position), position, self._index_position)
            # A bit that was set in a corrupt packet and is then clear again does not count.
            self._index_position = np.where(seen, first, np.nan)
            advance(position, seen)
        return self._command()

    def _watch(self) -> None:
        """Fail on faults that are checked in every stage."""
        if self._silence > BRING_UP_SILENCE:
            self._fail(f"no measurements for {1000 * self._silence:.0f} ms")
        elif self._packet is not None and self._packet.error.any():
            driver = int(np.flatnonzero(self._packet.error)[0])
            self._fail(f"driver {driver}: {error_text(int(self._packet.error[driver]))}")
        elif (
            self._silence == 0.0
            and self._packet is not None
            and (fault := self._guard.check(self._packet))
        ):
            self._fail(fault)
        elif self.stage not in (Stage.CHECK, Stage.ALIGN):
            self._watch_motors()

    def _watch_motors(self) -> None:
        assert self._packet is not None
        ready = self._packet.ready[MOTOR_OF_JOINT]
        if not ready.all():
            joint = int(np.argmin(ready))
            self._fail(
                f"the motor of {JOINT_NAMES[joint]} (driver {driver_of_joint(joint)}) "
                "is no longer ready"
            )
            return
        if fault := self.blocked(self._packet):
            self._fail(fault)

    def _check(self, position: Array, seen: Flags) -> None:
        """Read the zero pose; motors that have passed their index already count from it at once."""
        if self._checked_time == 0.0:
            self.compensated = seen
        self._checked_time += TICK
        if self._checked_time > COMPENSATE_TIME:
            self._start = position
            self._target = position
            self._index_position = np.where(self.compensated, 0.0, self._index_position)
            self._powered = True
            self._enter(Stage.ALIGN)

    def _align(self, position: Array, seen: Flags) -> None:
        assert self._packet is not None
        ready = self._packet.ready[MOTOR_OF_JOINT]
        self._target = position
        if ready.all():
            self._begin_search()
        elif self._time > ALIGN_LIMIT:
            late = ", ".join(JOINT_NAMES[joint] for joint in np.flatnonzero(~ready))
            self._fail(f"not ready after {ALIGN_LIMIT} s: {late}")

    def _begin_search(self) -> None:
        direction = np.ones(NUM_JOINTS)
        if self._calibration is not None:
            direction = np.where(self._calibration.offset < 0, -1.0, 1.0)
        self._search = IndexSearch(GROUPS[self._group], self._target, direction)
        self._enter(Stage.SEARCH)

    def _search_index(self, position: Array, seen: Flags) -> None:
        assert self._search is not None
        self._target = self._search.step(seen)
        unseen = GROUPS[self._group] & ~seen
        if not unseen.any():
            self._enter(Stage.SETTLE)
        elif self._search.has_ended:
            names = ", ".join(JOINT_NAMES[joint] for joint in np.flatnonzero(unseen))
            self._fail(
                f"no index pulse within a whole turn: {names}. Encoder cable, or a blocked joint?"
            )

    def _settle(self, position: Array, seen: Flags) -> None:
        active = GROUPS[self._group]
        self._target = np.where(active, position, self._target)
        if self._time < SETTLE_TIME:
            return
        if not self._resolved[active].all():
            self._resolve(active)
        elif self._time > SETTLE_TIME + COMPENSATE_TIME:
            self._from = self._target
            self._enter(Stage.FOLD)

    def _resolve(self, active: Flags) -> None:
        """Make a group count from its index, and determine which index pulse it found."""
        try:
            resolved = self._offset_of(active)
        except CalibrationError as error:
            self._fail(str(error))
            return
        self.offset = np.where(active, resolved, self.offset)
        self.compensated = self.compensated | active
        self._resolved = self._resolved | active

    def _offset_of(self, active: Flags) -> Array:
        if self._calibration is None:
            return self.measured_offset
        # Other groups are not resolved yet: treat their joints as if they had started at zero.
        start = np.where(active, self._start - self._index_position, -self._calibration.offset)
        return self._calibration.resolved(start)

    def _fold(self, position: Array, seen: Flags) -> None:
        part = min(self._time / FOLD_TIME, 1.0)
        smooth = part * part * (3.0 - 2.0 * part)
        goal = np.where(self._resolved, FOLDED_POSE, self._from)
        self._target = self._from + smooth * (goal - self._from)
        if part == 1.0:
            self._group += 1
            if self._group < len(GROUPS):
                self._begin_search()
            else:
                self._enter(Stage.DONE)

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self._time = 0.0

    def _fail(self, cause: str) -> None:
        self.cause = f"{self.stage.value}: {cause}"
        if self.stage is Stage.ALIGN:
            self._powered = False  # otherwise the drivers would continue to move the rotors
        self._enter(Stage.FAILED)

    def _gain(self) -> Array:
        if self.stage in (Stage.CHECK, Stage.ALIGN, Stage.FAILED):
            return np.zeros(NUM_JOINTS)
        gain = np.full(NUM_JOINTS, KP)
        if self.stage is Stage.SETTLE:
            gain[GROUPS[self._group]] = 0.0
        return gain

    def _command(self) -> MotorCommand:
        kp = self._gain()
        kd = np.where(kp > 0, KD, DAMPING_GAIN)
        if self.stage in (Stage.CHECK, Stage.ALIGN):
            kd = np.zeros(NUM_JOINTS)
        return motor_command(
            JointCommand(position=self._target, kp=kp, kd=kd),
            self.offset,
            enabled=np.full(NUM_JOINTS, self._powered),
            compensate_index=self.compensated,
            saturation=CURRENT,
        )
