"""Properties of every command of a controller, for any events in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Cause, Fault
from deploy.common.reactions import Reaction, reaction_to
from deploy.common.robot_constants import DAMPING_GAIN
from deploy.common.state_machine import POWERED, ControllerState
from deploy.controller.controller import REARM_NS
from deploy.messages.lcm_link import WIRE_REQUESTS, Mode, Request
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.limits import TRAINING_LIMITS
from tests.deploy.stage import MS, Stage, with_joint

BRISK = ControllerConfig(
    power_seconds=0.02, stand_seconds=0.05, stop_seconds=0.06, sit_seconds=0.05
)
FASTEST = 0.06
"""Largest motion of a joint target per tick [rad].

No joint moves more than 1.6 rad between lying and standing. The peak speed is 15/8 of the mean.
"""
ODD = {
    "a number that is none": {"angular_velocity_b": np.array([0.0, np.nan, 0.0])},
    "a fast joint": {"joint_velocity": with_joint(np.zeros(NUM_JOINTS), 4, 60.0)},
    "a strong joint": {"joint_torque": with_joint(np.zeros(NUM_JOINTS), 8, 3.0)},
    "a bent joint": {"joint_position": with_joint(np.zeros(NUM_JOINTS), 2, -3.1)},
    "a garbled joint": {"joint_position": with_joint(np.zeros(NUM_JOINTS), 7, 1e300)},
    "a garbled rate": {"joint_velocity": with_joint(np.zeros(NUM_JOINTS), 7, -1e300)},
    "a garbled IMU": {"acceleration_b": np.array([1e300, 0.0, 0.0])},
}


class AnyController(RuleBasedStateMachine):
    """A controller with a robot that follows or misbehaves, and an operator with any request."""

    def __init__(self) -> None:
        """Start with a lying robot and a first state."""
        super().__init__()
        self.stage = Stage(config=BRISK)
        self.last: Any = None
        self.first_fault: Fault | None = None
        self.asked_ns, self.unheard = -REARM_NS, 0
        self.tick()

    def tick(self, request: Request | None = Request.NOTHING, **options: Any) -> None:
        """Advance by a tick and check its command."""
        before_ns = self.stage.now_ns if self.last is None else self.last.time_ns
        was_faulty = self.stage.state is ControllerState.FAULT
        command = self.stage.tick(request, **options)
        state, controller = self.stage.state, self.stage.controller
        assert np.isfinite(command.position).all()
        assert 0.0 <= command.kp <= 5.0
        if state not in POWERED:
            assert (command.mode, command.kp, command.kd, command.skill) == (
                Mode.DAMP,
                0.0,
                DAMPING_GAIN,
                -1,
            )
        if command.kp > 0.0:
            assert (np.abs(command.position) <= TRAINING_LIMITS.position).all()
            assert controller.fault is None or reaction_to(controller.fault) < Reaction.DAMP
        if request is Request.REARM:
            self.asked_ns = self.stage.now_ns
        if was_faulty and self.stage.now_ns - self.asked_ns >= REARM_NS:
            assert state is ControllerState.FAULT
        self._check_fault(state)
        if self.last is not None:
            assert command.sequence == self.last.sequence + 1
            if command.mode == self.last.mode == Mode.MOVE:
                step = np.abs(np.array(command.position) - self.last.position).max()
                # After a gap in the states, a motion continues at its current time.
                assert step <= FASTEST * ((command.time_ns - before_ns) / MS + self.unheard) + 1e-9
        self.unheard = 0 if options.get("heard", True) else self.unheard + 1
        self.last = command

    def _check_fault(self, state: ControllerState) -> None:
        fault = self.stage.controller.fault
        if fault is None:
            assert state is not ControllerState.FAULT
        elif state is not ControllerState.FAULT:
            assert reaction_to(fault) < Reaction.DAMP
            assert state is not ControllerState.WALK
        if self.first_fault is not None and fault is not self.first_fault and fault is not None:
            assert reaction_to(fault) > reaction_to(self.first_fault)
        self.first_fault = fault

    def _reacts(self) -> bool:
        """Return True if the controller reacts to a fault."""
        return self.stage.controller.fault is not None

    @rule(
        request=st.sampled_from(sorted(WIRE_REQUESTS)),
        skill=st.integers(-2, 6),
        ticks=st.integers(1, 60),
    )
    def ask(self, request: Request, skill: int, ticks: int) -> None:
        """Send any request at any time."""
        self.tick(request, skill=skill)
        for _ in range(ticks):
            self.tick()

    @rule(numbers=st.tuples(*[st.floats(allow_nan=True, allow_infinity=True)] * 3))
    def steer(self, numbers: tuple[float, ...]) -> None:
        """Send any velocity."""
        self.tick(velocity=np.array(numbers))

    @rule(turns=st.integers(2, 6), pause=st.sampled_from([10, 60]))
    def go(self, turns: int, pause: int) -> None:
        """Follow the usual sequence, so that most examples walk.

        A short pause interrupts motions.
        """
        self.stage.fault = Cause.NONE
        wishes = (
            Request.REARM,
            Request.STAND,
            Request.WALK,
            Request.STOP,
            Request.SIT,
            Request.STAND,
        )
        for request in wishes[:turns]:
            self.tick(request)
            for _ in range(60 if request is Request.STAND else pause):
                self.tick()

    @rule(name=st.sampled_from(sorted(ODD)))
    def misbehave(self, name: str) -> None:
        """Send one invalid state: a fault while motors hold, and always if it is not finite."""
        powered = self.stage.state in POWERED
        self.tick(**ODD[name])
        if "none" in name or (powered and "IMU" not in name):
            assert self.stage.state is ControllerState.FAULT

    @rule(ticks=st.integers(1, 20))
    def hear_nothing(self, ticks: int) -> None:
        """Send no robot states for a while; 10 ms are accepted."""
        powered = self.stage.state in POWERED
        for _ in range(ticks):
            self.tick(heard=False)
        if powered and ticks > 10:
            assert self.stage.state is ControllerState.FAULT

    @rule(count=st.sampled_from([1, 2, 3, 36]))
    def lose_states(self, count: int) -> None:
        """Lose states."""
        powered = self.stage.state in POWERED
        self.stage.sequence += count
        self.tick()
        if powered and count > 35:
            assert self._reacts()

    @rule()
    def hear_the_past(self) -> None:
        """Deliver a state a second time."""
        message = self.stage.message()
        self.stage.sequence -= 1
        message.sequence = max(1, self.stage.sequence - 3)
        state = self.stage.state
        self.stage.controller.on_robot_state(message)
        assert self.stage.state is state

    @rule()
    def restart_the_robot(self) -> None:
        """Start another robot process."""
        self.stage.session += 1
        self.stage.sequence = 0
        self.tick()
        assert self.stage.state is ControllerState.FAULT

    @rule(ticks=st.sampled_from([1, 30, 550]))
    def say_nothing(self, ticks: int) -> None:
        """Send no operator messages for a while."""
        powered = self.stage.state in POWERED and self.stage.state is not ControllerState.SIT
        for _ in range(ticks):
            self.tick(None)
        if powered and ticks > 500:
            assert self._reacts()

    @rule(cause=st.sampled_from([Cause.NONE, Cause.NONE, Cause.HARDWARE]))
    def set_the_robot_s_fault(self, cause: Cause) -> None:
        """Set or clear the robot's own fault."""
        self.stage.fault = cause
        powered = self.stage.state in POWERED
        self.tick()
        if powered and cause:
            assert self.stage.state is ControllerState.FAULT

    @precondition(lambda self: self.stage.state is ControllerState.FAULT)
    @rule()
    def rearm(self) -> None:
        """Re-arm at once, or within 0.5 s when the robot's own fault is cleared."""
        kept = self.stage.controller.fault
        self.tick(Request.REARM)
        if self.stage.fault:
            assert self.stage.controller.fault is kept
        else:
            assert self.stage.state is ControllerState.IDLE

    @rule(late=st.integers(1, 25), delay=st.sampled_from([0, 15, 40]))
    def be_late(self, late: int, delay: int) -> None:
        """Report late ticks and long delays."""
        self.stage.delay_ns = delay * MS
        for _ in range(late):
            self.stage.controller.on_late_ticks(1)
            self.tick()

    @invariant()
    def the_estimate_is_finite(self) -> None:
        """The estimate is finite after any sensor readings."""
        estimate = self.stage.controller.estimate
        assert estimate is not None
        assert all(np.isfinite(value).all() for value in vars(estimate).values())


AnyController.TestCase.settings = settings(
    settings.default, max_examples=20, stateful_step_count=20
)
TestAnyController = AnyController.TestCase
