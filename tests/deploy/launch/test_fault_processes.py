"""Killed, frozen and interrupted processes: damped motors, a reason, a log and exit code 1."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from deploy.common.known_defects import CURRENT_OFFSET
from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import STATE_CHANNEL, STATUS_CHANNEL
from deploy.robots.process.__main__ import DAMPED_SECONDS
from deploy.robots.process.lying_down import LIE_SECONDS
from solo_doi.solo12.limits import TORQUE_PER_AMPERE, TRAINING_LIMITS
from tests.common.disks import small_disk
from tests.deploy.deployment import QUICK, Deployment

LARGEST_MEASURED = TRAINING_LIMITS.torque + CURRENT_OFFSET * TORQUE_PER_AMPERE
"""Largest torque that current sensors with an offset show [N m]."""
WALKING = (*QUICK, "--skill", "2", "--seconds", "1000")


def bounded(run: Deployment) -> bool:
    """Return whether there is a log; its torques must be within the limit."""
    states = run.logged(STATE_CHANNEL)
    return len(states) > 100 and bool(
        np.abs([state.joint_torque for state in states]).max() <= LARGEST_MEASURED
    )


def test_a_killed_controller(tmp_path: Path) -> None:
    """Commands stop, the robot damps, and the surviving recorder writes the log."""
    with Deployment(tmp_path / "run", *WALKING) as run:
        run.listen_until_state(ControllerState.WALK)
        os.kill(run.child("deploy.controller.controller_process"), signal.SIGKILL)
        assert run.finish() == 1
    assert "the controller ended without a report" in run.summary["problems"]
    assert bounded(run)
    assert (tmp_path / "run" / "report.png").exists()
    assert len(run.incidents()) == 1


def test_a_frozen_and_thawed_controller(tmp_path: Path) -> None:
    """The robot lies down without it; after thawing, the controller stays damped."""
    with Deployment(tmp_path / "run", *WALKING) as run:
        run.listen_until_state(ControllerState.WALK)
        controller = run.child("deploy.controller.controller_process")
        os.kill(controller, signal.SIGSTOP)
        run.listen_until_damped()
        os.kill(controller, signal.SIGCONT)
        assert run.finish() == 1
    assert run.summary["history"][-1]["state"] == "FAULT"
    assert any(
        problem.startswith("robot: no fresh command for 6") for problem in run.summary["problems"]
    )
    assert len(run.incidents()) == 1
    assert (
        "the robot damps by itself: no fresh command for 6"
        in (tmp_path / "run/incident-1/cause.txt").read_text()
    )
    assert "fault: the robot damps by itself: no fresh command for 6" in run.output
    assert bounded(run)


def test_a_killed_robot_process(tmp_path: Path) -> None:
    """The controller ends, and the report names the missing process."""
    with Deployment(tmp_path / "run", *WALKING) as run:
        run.listen_until_state(ControllerState.WALK)
        os.kill(run.child("deploy.robots.process"), signal.SIGKILL)
        assert run.finish() == 1
    assert "the robot process ended without a report" in run.summary["problems"]
    assert bounded(run)
    assert len(run.incidents()) == 1


@pytest.mark.parametrize("keys", ["", "s"], ids=["idle", "ready"])
def test_a_robot_process_killed_while_a_person_drives(keys: str, tmp_path: Path) -> None:
    """All processes end without a key, and the report names the missing process."""
    with Deployment(
        tmp_path / "run", "--mock", "--operator", "keyboard", "--controller.stand-seconds", "0.2"
    ) as run:
        run.listen(lambda heard: STATUS_CHANNEL in heard)
        for key in keys:
            run.press(key, ControllerState.READY)
        os.kill(run.child("deploy.robots.process"), signal.SIGKILL)
        assert run.finish() == 1
    assert "fault: the robot process ended without a report" in run.output
    assert "Traceback" not in run.output
    assert run.summary["ended"] == "stopped"
    assert not (run.out / "key").exists()
    (incident,) = run.incidents()
    assert (incident / "cause.txt").read_text().strip()


def test_a_robot_process_that_fails_before_its_first_message(tmp_path: Path) -> None:
    """A bring-up may fail like this; the console must not stay open."""
    with Deployment(tmp_path / "run", "--mock", "--operator", "keyboard") as run:
        os.kill(run.await_child("deploy.robots.process"), signal.SIGKILL)
        assert run.finish() == 1
    assert "fault: the robot process ended without a report" in run.output
    assert "Traceback" not in run.output


@pytest.mark.parametrize("child", ["deploy.robots.process", "deploy.controller.controller_process"])
def test_a_command_that_is_killed_while_its_processes_start(child: str, tmp_path: Path) -> None:
    """The processes end, although their parent died before their first check."""
    with Deployment(tmp_path / "run", "--mock", "--operator", "keyboard") as run:
        run.await_child(child)
        os.kill(run.pid, signal.SIGKILL)
        assert run.finish() == -signal.SIGKILL


def test_a_full_disk(tmp_path: Path) -> None:
    """Control continues to the end; the missing log is a problem."""
    with small_disk(tmp_path, "600k"):
        arguments = ("--mock", *QUICK, "--seconds", "0.1", "--controller.stop-seconds", "0.1")
        with Deployment(tmp_path / "run", *arguments) as run:
            assert run.finish() == 1
        assert [entry["state"] for entry in run.summary["history"]][-3:] == ["READY", "SIT", "IDLE"]
        assert run.summary["problems"] == ["there is no log: it could not be written"]
    assert (
        "log.lcm could not be written (No space left on device); control continues." in run.output
    )
    assert "fault: there is no log: it could not be written" in run.output
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("state", "arguments"),
    [
        (ControllerState.IDLE, ("--mock", "--readonly", "--seconds", "1000")),
        (ControllerState.STAND, ("--mock", "--fast", "--controller.stand-seconds", "1000")),
        (ControllerState.WALK, WALKING),
        (
            ControllerState.SIT,
            ("--mock", *QUICK[:-1], "1000", "--seconds", "0.1", "--controller.stop-seconds", "0.1"),
        ),
    ],
    ids=["idle", "stand", "walk", "sit"],
)
def test_ctrl_c(state: ControllerState, arguments: tuple[str, ...], tmp_path: Path) -> None:
    """The arguments hold each state until the key is pressed."""
    with Deployment(tmp_path / "run", *arguments) as run:
        # Idling needs the wall clock, on which a stalled machine may lose states and already have
        # found a fault.
        run.listen(
            lambda heard: (
                STATUS_CHANNEL in heard
                and heard[STATUS_CHANNEL].state in (state, ControllerState.FAULT)
            )
        )
        run.interrupt()
        assert run.finish() == 1
    assert "Traceback" not in run.output
    *_, before, last = [None, *(entry["state"] for entry in run.summary["history"])]
    if state is not ControllerState.IDLE:
        assert last == state.name or (before, last) == (
            state.name,
            "DAMP",
        )  # the robot may have reported first
    assert "stopped before the script was done" in run.summary["problems"]
    assert "fault: stopped before the script was done" in run.output
    assert bounded(run) or state is ControllerState.IDLE


def test_ctrl_z_damps_and_ends(tmp_path: Path) -> None:
    """No process is suspended, since motors without commands would be limp."""
    with Deployment(
        tmp_path / "run", "--mock", "--fast", "--controller.stand-seconds", "1000"
    ) as run:
        run.listen_until_state(ControllerState.STAND)
        run.interrupt(signal.SIGTSTP)
        assert run.finish() == 1
    assert ended_in_order(run)


@pytest.mark.parametrize(
    ("keys", "state"),
    [("s", ControllerState.READY), ("s ", ControllerState.DAMP)],
    ids=["ready", "damp"],
)
def test_ctrl_c_while_a_person_drives(keys: str, state: ControllerState, tmp_path: Path) -> None:
    """An operator may end at any time, so it is not a problem."""
    arguments = ("--mock", "--operator", "keyboard", "--controller.stand-seconds", "0.2")
    with Deployment(tmp_path / "run", *arguments) as run:
        for key, reached in zip(keys, (ControllerState.READY, state), strict=False):
            run.press(key, reached)
        run.interrupt()
        code = run.finish()
    assert "Traceback" not in run.output
    assert run.summary["ended"] == "stopped"
    assert run.summary["history"][-1]["state"] in (
        state.name,
        "DAMP",
        "FAULT",
    )  # the robot may have been faster
    assert code == bool(run.summary["problems"])
    assert run.logged(STATE_CHANNEL)


def test_q_lies_down_and_ends(tmp_path: Path) -> None:
    """The operator's program uses the controller's signed status.

    It ends when the motors no longer hold a position.
    """
    arguments = ("--controller.stand-seconds", "0.2", "--controller.sit-seconds", "0.2")
    with Deployment(tmp_path / "run", "--mock", "--operator", "keyboard", *arguments) as run:
        run.press("s", ControllerState.READY)
        run.type_until("q", lambda: not run.alive)
        code = run.finish()
    assert run.summary["ended"] == "stopped"
    assert run.summary["history"][-1]["state"] in (
        "IDLE",
        "FAULT",
        "DAMP",
    )  # a stalled machine may find a fault before
    assert code == bool(run.summary["problems"])
    assert "READY" in run.output or "FAULT" in run.output


def test_the_end_of_its_terminal_ends_the_command(tmp_path: Path) -> None:
    """After one or two signals the robot is damped, the report written and the key deleted."""
    with Deployment(tmp_path / "run", *WALKING) as run:
        run.listen_until_state(ControllerState.WALK)
        for _ in range(2):
            os.kill(run.pid, signal.SIGHUP)
        assert run.finish() == 1
    assert ended_in_order(run)


def test_a_terminal_that_is_closed_while_a_person_drives(tmp_path: Path) -> None:
    """A closed window or a lost connection acts like Ctrl-C."""
    with Deployment(
        tmp_path / "run", "--mock", "--operator", "keyboard", "--controller.stand-seconds", "0.2"
    ) as run:
        run.press("s", ControllerState.READY)
        run.close_terminal()
        run.finish()
    assert ended_in_order(run)


def ended_in_order(run: Deployment) -> bool:
    """Check that all processes damped, reported and cleaned up."""
    robot = json.loads((run.out / "robot.json").read_text())
    assert "Traceback" not in run.output
    assert run.summary["ended"] == "stopped"
    assert robot["fault"], "the motors were not damped for good"
    assert robot["ticks"] > DAMPED_SECONDS / TICK
    return not (run.out / "key").exists() and len(run.logged(STATE_CHANNEL)) > 100


def test_ctrl_c_after_a_fault(tmp_path: Path) -> None:
    """The run waits for the operator after a fault; ending it is a problem with an incident."""
    with Deployment(
        tmp_path / "run", "--mock", "--operator", "keyboard", "--controller.stand-seconds", "0.2"
    ) as run:
        run.press("s", ControllerState.READY)
        controller = run.child("deploy.controller.controller_process")
        os.kill(controller, signal.SIGSTOP)
        # A stalled host may have caused a fault before; the robot process then finds no other.
        run.listen(lambda heard: run.is_damped() or run.is_in(ControllerState.FAULT))
        os.kill(controller, signal.SIGCONT)
        run.listen_until_state(ControllerState.FAULT)
        run.interrupt()
        assert run.finish() == 1
    assert "Traceback" not in run.output
    assert run.summary["history"][-1]["state"] == "FAULT"
    assert len(run.incidents()) == 1


def test_a_robot_lies_down_after_its_controller_was_killed(tmp_path: Path) -> None:
    """The command that started both lets the robot process end its reaction before it damps."""
    with Deployment(tmp_path / "run", "--mock", "--seconds", "1000") as run:
        run.listen_until_state(ControllerState.WALK)
        os.kill(run.child("deploy.controller.controller_process"), signal.SIGKILL)
        run.listen_until_damped()
        first = run.heard[STATE_CHANNEL].time_ns
        run.listen_to_the_end()
        assert (run.heard[STATE_CHANNEL].time_ns - first) * 1e-9 > LIE_SECONDS + DAMPED_SECONDS
