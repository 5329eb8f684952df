"""From power-up to calibrated, as states that never block: one packet in, one command out, per tick.

    CHECK   motors off; where does the person who put it there say that zero is?
    ALIGN   motors enabled; the drivers move the rotors themselves
    SEARCH  one group of joints swings until its index pulses were seen
    SETTLE  that group is only damped, then counts from its index: a position target would jump by that much
    FOLD    what is calibrated goes to the folded pose, gently
    DONE    all joints are calibrated and hold the folded pose
    FAILED  all motors are damped for as long as anybody calls

Legs come before hips: folded, they swing clear of the stand the robot hangs in.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from deploy.common.robot_constants import DAMPING, TICK
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
from .calibration import Calibration, CalibrationError
from .index_search import IndexSearch

KP, KD = 4.0, 0.1
"""Of all movements here [N m/rad], [N m s/rad]."""
CURRENT = 6.0
"""Limit of all movements here: half of what walking may use [A]."""
FOLDED_POSE = symmetric_pose(0.0, 1.2, -2.4)
"""Where the robot ends, ready to be put on the ground; as in the vendor's driver file."""
REST_TIME = 2.0
"""How long motors are damped after a failure before whoever waits for the end is told [s]."""
ALIGN_LIMIT, SETTLE_TIME, COMPENSATE_TIME, FOLD_TIME = 3.0, 0.15, 0.05, 1.5
"""[s]"""
SILENCE_LIMIT = 0.02
"""Longest time without measurements before it fails: the board has switched off by then [s]."""
LARGEST_ERROR = 0.5
"""Farthest that a joint may stay behind its target: something blocks it [rad]."""
IS_HIP = np.array([name.endswith("HAA") for name in JOINT_NAMES])
GROUPS = (~IS_HIP, IS_HIP)


class Stage(Enum):
    """What bring-up is doing."""

    CHECK = "reading sensors"
    ALIGN = "aligning rotors"
    SEARCH = "searching index pulses"
    SETTLE = "coming to rest"
    FOLD = "folding legs"
    DONE = "calibrated"
    FAILED = "failed"


class BringUp:
    """Feed it the board's packets and send what it returns."""

    def __init__(self, calibration: Calibration | None) -> None:
        """Begin with motors off. Without a calibration one is measured: the robot must be exactly in the zero pose."""
        self._calibration = calibration
        self.stage = Stage.CHECK
        self.cause = ""
        """Why it failed."""
        self.offset: Array = np.zeros(NUM_JOINTS)
        """Joint angle at motor position zero [rad]; final once DONE."""
        self.compensated: Flags = np.zeros(NUM_JOINTS, dtype=bool)
        """Joints that count from their index."""
        self._resolved: Flags = np.zeros(NUM_JOINTS, dtype=bool)
        self._time = 0.0  # in this stage
        self._silence = 0.0
        self._guard = BringUpGuard()
        self._since_first = 0.0  # measurements
        self._group = 0
        self._search: IndexSearch | None = None
        self._start = np.zeros(NUM_JOINTS)  # positions in the zero pose, and
        self._place = np.full(
            NUM_JOINTS, np.nan
        )  # at the index, both as counted before compensation
        self._from = np.zeros(NUM_JOINTS)
        self._target = np.zeros(NUM_JOINTS)
        self._packet: SensorPacket | None = None
        self._powered = (
            False  # a motor that is enabled anew moves by itself: never again after a failure
        )

    @property
    def is_done(self) -> bool:
        """Whether joints may be driven."""
        return self.stage is Stage.DONE

    @property
    def powered(self) -> bool:
        """Whether motors were switched on: only then may they be damped, as switching them on moves them."""
        return self._powered

    @property
    def resolved(self) -> Flags:
        """Joints whose angles are known."""
        return self._resolved

    @property
    def searching(self) -> Flags:
        """Joints that swing."""
        return GROUPS[self._group] & (self.stage is Stage.SEARCH)

    @property
    def is_over(self) -> bool:
        """Whether it failed, and joints have had the time to come to rest."""
        return self.stage is Stage.FAILED and self._time > REST_TIME

    @property
    def measured_offset(self) -> Array:
        """Joint angles of the indices that were found if the robot was at zero when it began, NaN where none was."""
        return self._place - self._start

    def give_up(self, cause: str) -> None:
        """End it before it is done; the first cause is the one that stays."""
        if self.stage is not Stage.FAILED:
            self._fail(cause)

    def blocked(self, packet: SensorPacket) -> str:
        """Say of a joint that is held too far from its target, also once DONE; nothing if none is."""
        behind = np.abs(self._target - joint_position(packet, self.offset))
        held = self._gain() > 0
        if not (held & (behind > LARGEST_ERROR)).any():
            return ""
        joint = int(np.argmax(held * behind))
        return f"{JOINT_NAMES[joint]} is {behind[joint]:.2f} rad behind its target: is it blocked?"

    def step(self, packet: SensorPacket | None, silence: float) -> MotorCommand:
        """Take what was measured in this tick, or for how long nothing was [s], and return what to send."""
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
            position, seen = (
                joint_position(self._packet, self.offset),
                self._packet.index_seen[MOTOR_OF_JOINT],
            )
            first = np.where(np.isnan(self._place), position, self._place)
            self._place = np.where(
                seen, first, np.nan
            )  # a bit that was set by mistake is forgotten
            advance(position, seen)
        return self._command()

    def _watch(self) -> None:
        """Fail on what no stage may meet."""
        if self._silence > SILENCE_LIMIT:
            self._fail(f"no measurements for {1000 * self._silence:.0f} ms")
        elif self._packet is not None and self._packet.error.any():
            driver = int(np.flatnonzero(self._packet.error)[0])
            self._fail(f"driver {driver}: {error_text(int(self._packet.error[driver]))}")
        elif (
            self._silence == 0.0
            and self._packet is not None
            and (wrong := self._guard.check(self._packet))
        ):
            self._fail(wrong)
        elif self.stage not in (Stage.CHECK, Stage.ALIGN):
            self._watch_motors()

    def _watch_motors(self) -> None:
        assert self._packet is not None
        ready = self._packet.ready[MOTOR_OF_JOINT]
        if not ready.all():
            joint = int(np.argmin(ready))
            self._fail(
                f"the motor of {JOINT_NAMES[joint]} (driver {driver_of_joint(joint)}) is no longer ready"
            )
            return
        if wrong := self.blocked(self._packet):
            self._fail(wrong)

    def _check(self, position: Array, seen: Flags) -> None:
        """Read the zero pose. Motors that saw their index before, in an earlier session, count from it at once."""
        if self._since_first == 0.0:
            self.compensated = seen
        self._since_first += TICK
        if self._since_first > COMPENSATE_TIME:
            self._start, self._target = position, position
            self._place = np.where(self.compensated, 0.0, self._place)
            self._powered = True
            self._enter(Stage.ALIGN)

    def _align(self, position: Array, seen: Flags) -> None:
        assert self._packet is not None
        ready = self._packet.ready[MOTOR_OF_JOINT]
        self._target = position
        if ready.all():
            self._begin_search()
        elif self._time > ALIGN_LIMIT:
            late = ", ".join(
                name for name, good in zip(JOINT_NAMES, ready, strict=True) if not good
            )
            self._fail(f"not ready after {ALIGN_LIMIT} s: {late}")

    def _begin_search(self) -> None:
        toward = np.zeros(NUM_JOINTS) if self._calibration is None else self._calibration.offset
        direction = np.where(toward < 0, -1.0, 1.0)
        self._search = IndexSearch(GROUPS[self._group], self._target, direction)
        self._enter(Stage.SEARCH)

    def _search_index(self, position: Array, seen: Flags) -> None:
        assert self._search is not None
        self._target = self._search.step(seen)
        blind = GROUPS[self._group] & ~seen
        if not blind.any():
            self._enter(Stage.SETTLE)
        elif self._search.has_ended:
            names = ", ".join(JOINT_NAMES[joint] for joint in np.flatnonzero(blind))
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
        """From now on this group counts from its index; find out which index it was."""
        try:
            resolved = self._offset_of(active)
        except CalibrationError as error:
            self._fail(str(error))
            return
        self.offset = np.where(active, resolved, self.offset)
        self.compensated, self._resolved = self.compensated | active, self._resolved | active

    def _offset_of(self, active: Flags) -> Array:
        if self._calibration is None:
            return self.measured_offset
        start = np.where(
            active, self._start - self._place, -self._calibration.offset
        )  # the others: as if at zero
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
        self.stage, self._time = stage, 0.0

    def _fail(self, cause: str) -> None:
        self.cause = f"{self.stage.value}: {cause}"
        if self.stage is Stage.ALIGN:
            self._powered = (
                False  # else the drivers would go on moving the rotors, whatever they are told
            )
        self._enter(Stage.FAILED)

    def _gain(self) -> Array:
        if self.stage in (Stage.CHECK, Stage.ALIGN, Stage.FAILED):
            return np.zeros(NUM_JOINTS)
        resting = (
            GROUPS[self._group] if self.stage is Stage.SETTLE else np.zeros(NUM_JOINTS, dtype=bool)
        )
        return np.where(resting, 0.0, KP)

    def _command(self) -> MotorCommand:
        kp = self._gain()
        kd = 0.0 if self.stage in (Stage.CHECK, Stage.ALIGN) else np.where(kp > 0, KD, DAMPING)
        return motor_command(
            JointCommand(position=self._target, kp=kp, kd=kd),
            self.offset,
            enabled=np.full(NUM_JOINTS, self._powered),
            compensate_index=self.compensated,
            saturation=CURRENT,
        )
