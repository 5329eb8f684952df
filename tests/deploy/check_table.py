"""Table of all checks with level, threshold and test, as deploy/docs/safety.md shows it.

`python -m tests.deploy.check_table` writes the generated parts of that page again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from deploy.common.faults import Cause
from deploy.common.position_limits import NOISE
from deploy.common.reactions import REACTIONS, Reaction
from deploy.common.safety_config import SafetyConfig
from deploy.common.state_machine import diagram
from deploy.controller.controller import LARGEST_RESTING_VELOCITY
from deploy.controller.safety import HELD_TICKS
from deploy.robots.odri.bring_up.calibration import LARGEST_AGE
from deploy.robots.process.gate_config import GateConfig
from deploy.robots.process.joint_watch import FROZEN_SECONDS, FROZEN_TORQUE, HEAT_SECONDS
from deploy.robots.process.outliers import DISAGREEMENTS, VELOCITY_TOLERANCE
from solo_doi.solo12.limits import DRIVER_LIMITS, SAFETY_LIMITS, VENDOR_CURRENT


class Level(Enum):
    """Consequence of a failed check."""

    WARNING = "warning: printed, nothing else happens"
    REFUSAL = "refusal: the request is rejected, nothing moves"
    DAMPING = "damping: requested by the operator, ends when the operator re-arms"
    FAULT = (
        "fault: latched until the operator re-arms, with the [reaction](faults.md#reactions) named"
    )


@dataclass(frozen=True)
class Check:
    """One check."""

    what: str
    level: Level
    threshold: str
    test: str
    """Name of a file below tests/deploy, and of a test in it."""


S = SafetyConfig()
G = GateConfig()
REACTION_WORDS = {
    Reaction.STAND: ", stands",
    Reaction.SIT: ", lies down",
    Reaction.DAMP: ", damps",
}
GRACE = f"for {S.patience:g} s"


def _positions(limits: tuple[float, ...]) -> str:
    return ", ".join(f"{limit:.2f}" for limit in limits) + " rad"


SAFETY_TEST = "test_safety.py"
NEWS = "test_safety_news.py"
FAULTS = "test_controller_faults.py"
GATE = "test_gate.py"
AGE = "test_gate_age.py"
MOMENT = "test_gate_moment.py"
NEAR = _positions(tuple(SAFETY_LIMITS.position[:3]))
FAR = _positions(tuple(DRIVER_LIMITS.position[:3]))
CAUSES = {
    Cause.JOINT_POSITION: (
        f"{NEAR}; last line {FAR}; {NOISE:g} rad beyond the position of a joint that starts "
        f"outside",
        f"{SAFETY_TEST}::test_limits_of_every_joint",
    ),
    Cause.JOINT_VELOCITY: (
        f"{SAFETY_LIMITS.velocity:g} rad/s; last line {DRIVER_LIMITS.velocity:g}",
        f"{SAFETY_TEST}::test_limits_of_every_joint",
    ),
    Cause.JOINT_TORQUE: (
        f"{SAFETY_LIMITS.torque:g} N m measured",
        f"{SAFETY_TEST}::test_limits_of_every_joint",
    ),
    Cause.TORQUE_RATE: (
        f"{S.torque_step:g} N m in a tick, in more than {S.bad_share} of 100",
        f"{SAFETY_TEST}::test_torque_may_jump_but_not_chatter",
    ),
    Cause.TILT: (
        f"{S.tilt:g} rad; last line {G.tilt:g}",
        f"{SAFETY_TEST}::test_a_tilted_base_is_a_fault",
    ),
    Cause.STATE_NOT_FINITE: (
        "any NaN or infinity",
        f"{FAULTS}::test_numbers_that_are_not_finite_are_a_fault_in_every_state",
    ),
    Cause.STATE_STALE: (
        f"{1000 * S.state_age:g} ms",
        f"{FAULTS}::test_a_silent_robot_is_a_fault_after_ten_milliseconds",
    ),
    Cause.STATE_FROZEN: (
        f"joint velocities and gyroscope unchanged for {1000 * S.frozen:g} ms",
        f"{NEWS}::test_frozen_sensors_are_a_fault_after_twenty_milliseconds",
    ),
    Cause.STATE_GAP: (
        f"more than {S.gap_share} lost per 100 received",
        f"{FAULTS}::test_lost_states_are_counted_from_their_numbers",
    ),
    Cause.ROBOT_RESTARTED: (
        "another session number",
        f"{FAULTS}::test_another_robot_process_is_a_fault",
    ),
    Cause.ROBOT_FAULT: (
        "any fault of the last line",
        f"{FAULTS}::test_a_robot_that_damps_by_itself_is_a_fault",
    ),
    Cause.ATTITUDE_DISAGREES: (
        f"{S.tilt_disagreement:g} rad {GRACE}",
        f"{SAFETY_TEST}::test_imu_and_estimator_may_disagree_for_a_moment",
    ),
    Cause.POLICY_NOT_FINITE: (
        "any NaN or infinity",
        f"{SAFETY_TEST}::test_an_answer_that_is_not_finite_is_a_fault",
    ),
    Cause.OUT_OF_ENVELOPE: (
        f"{S.envelope:g} times the training range {GRACE}",
        f"{SAFETY_TEST}::test_a_policy_may_see_the_unknown_for_a_moment",
    ),
    Cause.TARGET_RATE: (
        f"{S.target_step:g} rad in a policy step",
        f"{SAFETY_TEST}::test_a_target_that_jumps_is_a_fault",
    ),
    Cause.OVERRUN: (
        f"more than {S.bad_share} of 100 ticks late, one stall of up to {HELD_TICKS} ms excepted",
        f"{NEWS}::test_late_ticks_are_a_fault_beyond_a_fifth",
    ),
    Cause.DELAY: (
        f"sensor to torque outside the trained range {GRACE}",
        f"{FAULTS}::test_a_delay_that_training_never_had_is_a_fault",
    ),
    Cause.OPERATOR_SILENT: (
        f"{S.operator_age:g} s; last line {G.operator_age:g}",
        f"{FAULTS}::test_a_silent_operator_is_a_fault_after_half_a_second",
    ),
    Cause.COMMAND_NOT_FINITE: (
        "any NaN or infinity",
        f"{GATE}::test_numbers_that_are_not_finite_are_refused_anywhere",
    ),
    Cause.COMMAND_POSITION: (NEAR, f"{GATE}::test_targets_beyond_the_safety_limit_are_refused"),
    Cause.COMMAND_STEP: (
        f"{G.step:g} rad between commands; {G.first_step:g} from the joint at switch-on",
        f"{GATE}::test_steps_between_commands_have_a_limit",
    ),
    Cause.COMMAND_RATE: (
        f"{G.rate:g} rad/s for long",
        f"{GATE}::test_targets_must_not_move_too_fast_for_long",
    ),
    Cause.COMMAND_GAINS: (f"kp {G.kp:g}, kd {G.kd:g}", f"{GATE}::test_gains_have_limits"),
    Cause.COMMAND_TORQUE: (
        f"{', '.join(f'{most:g}' for most in G.torque)} N m before clipping",
        f"{MOMENT}::test_gains_and_distance_must_not_ask_for_too_much",
    ),
    Cause.COMMAND_STALE: (
        f"held from {1000 * G.expiry:g} ms on, fault after {1000 * G.hold:g} ms",
        f"{AGE}::test_a_command_is_held_for_sixty_milliseconds",
    ),
    Cause.COMMAND_OBSERVED: (
        f"measurement used for it {1000 * G.observed_age:g} ms old, or in the future",
        f"{AGE}::test_a_command_rests_on_a_measurement_of_late",
    ),
    Cause.COMMAND_FOREIGN: (
        "another session while motors are powered",
        "test_robot_process.py::test_a_second_controller_damps_a_powered_robot",
    ),
    Cause.MOTOR_NOT_READY: ("any motor", f"{MOMENT}::test_motors_must_follow_and_report_no_error"),
    Cause.COMMAND_LAG: (
        f"{G.command_lag} ticks",
        f"{MOMENT}::test_motors_must_acknowledge_commands",
    ),
    Cause.SENSOR_STALE: (
        f"{1000 * G.sensor_age:g} ms",
        f"{AGE}::test_sensors_that_are_silent_are_a_fault",
    ),
    Cause.HARDWARE: (
        "any driver error",
        f"{MOMENT}::test_motors_must_follow_and_report_no_error",
    ),
    Cause.IMU_FROZEN: (f"{1000 * G.imu_frozen:g} ms", f"{MOMENT}::test_a_frozen_imu_is_a_fault"),
    Cause.VOLTAGE: (
        f"below {G.voltage:g} V for {G.voltage_patience:g} s",
        f"{MOMENT}::test_a_flat_battery_is_a_fault",
    ),
    Cause.ENCODER_JUMP: (
        f"{G.encoder_jump:g} rad more than {DRIVER_LIMITS.velocity:g} rad/s allows",
        f"{MOMENT}::test_an_encoder_that_jumps_is_a_fault",
    ),
    Cause.PACKETS_LOST: (
        f"more than {G.lost_share} per 100 received, both directions",
        f"{MOMENT}::test_packets_may_not_be_lost_too_often",
    ),
    Cause.ENCODER_FROZEN: (
        f"no encoder step within {1000 * FROZEN_SECONDS:g} ms after the wanted torque changed by "
        f"{FROZEN_TORQUE:g} N m",
        "test_joint_watch.py::test_every_frozen_encoder_is_found_while_walking",
    ),
    Cause.MOTOR_HOT: (
        f"mean square of the current over {HEAT_SECONDS:g} s above that of {VENDOR_CURRENT:g} A",
        "test_joint_watch.py::test_a_saturated_motor_is_too_hot_after_some_seconds",
    ),
    Cause.BOARD_DISARMED: (
        f"all motors off after a stall of {1000 * G.disarmed_after:g} ms",
        "test_stalls.py::test_a_board_that_disarmed_is_named",
    ),
    Cause.VELOCITY_DISAGREES: (
        f"{VELOCITY_TOLERANCE:g} rad/s between a joint's velocity and its encoder, in more than "
        f"{DISAGREEMENTS} of 100 ticks",
        "test_outliers.py::test_velocities_that_stay_wrong_are_a_fault",
    ),
    Cause.ROBOT_PROGRAM: (
        "any error of the robot process",
        "test_robot_process.py::test_a_mistake_in_the_program_damps_and_damping_goes_on",
    ),
}
"""Threshold and test of every fault cause."""


def checks() -> list[Check]:
    """List all checks: warnings, refusals, damping on request, faults."""
    faults = [
        cause for cause in Cause if cause not in (Cause.NONE, Cause.UNKNOWN, Cause.OPERATOR_STOP)
    ]
    return [
        Check("real-time scheduling, memory lock", Level.WARNING, "refused by the system",
              "test_clock.py::test_refusals_are_printed_at_once"),
        Check("real robot without real-time scheduling", Level.REFUSAL, "without --allow-jitter",
              "test_readiness.py::test_a_real_robot_needs_real_time_scheduling"),
        Check("real robot without a GO of --check today", Level.REFUSAL, "without --skip-check",
              "test_readiness.py::test_a_real_robot_needs_a_go_of_today"),
        Check("age of the calibration", Level.WARNING, f"{LARGEST_AGE} days",
              "test_preflight.py::test_a_robot_needs_a_calibration_that_can_be_true"),
        Check("forged or malformed messages", Level.WARNING, "dropped and counted",
              "test_deployment_report.py::test_the_summary_has_every_figure_and_a_picture"),
        Check("standing up while joints move", Level.REFUSAL, f"{LARGEST_RESTING_VELOCITY:g} rad/s",
              "test_controller.py::test_a_robot_that_still_sinks_does_not_stand_up"),
        Check("skill that its evaluation rejected", Level.REFUSAL, "without --force",
              "test_preflight.py::test_a_rejected_skill_is_refused_unless_forced"),
        Check("OPERATOR_STOP", Level.DAMPING, "at once",
        "test_guided.py::test_space_damps_after_any_question"),
        *(Check(cause.name, Level.FAULT, *CAUSES[cause]) for cause in faults),
    ]  # fmt: skip


def table() -> str:
    """Return the table as Markdown."""
    rows = []
    for check in checks():
        level = check.level.value.split(":")[0]
        if check.level is Level.FAULT:
            level += REACTION_WORDS[REACTIONS.get(Cause[check.what], Reaction.DAMP)]
        rows.append(f"| {check.what} | {level} | {check.threshold} | `{check.test}` |")
    meanings = "; ".join(level.value for level in Level)
    head = ["| check | level | threshold | test |", "|---|---|---|---|"]
    return "\n".join([f"Levels: {meanings}.", "", *head, *rows])


PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "safety.md"
"""Page with the generated parts."""


def generated() -> dict[str, str]:
    """Return the generated parts of the page by the name of their marker."""
    return {"diagram": f"```mermaid\n{diagram()}\n```", "levels": table()}


def page_with(parts: dict[str, str]) -> str:
    """Return the page with each part between its marker and the next end marker."""
    text = PAGE.read_text()
    for name, part in parts.items():
        before, rest = text.split(f"<!-- {name} -->\n", 1)
        after = rest.split("<!-- end -->", 1)[1]
        text = f"{before}<!-- {name} -->\n{part}\n<!-- end -->{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page_with(generated()))
