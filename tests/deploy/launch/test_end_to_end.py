"""solo-deploy from the command line: two processes and real messages.

Tests that assert a number run in lock-step.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from deploy.common.deploy_config import KEY_FILE
from deploy.common.known_defects import CURRENT_OFFSET
from deploy.logs.controller_replay import replay
from deploy.messages.authentication import read_key, run_authority, write_key
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, WALK_END_CHANNEL
from deploy.recorder.recorder import LOG_FILE, read_log
from solo_doi.solo12.limits import TORQUE_PER_AMPERE, TRAINING_LIMITS
from tests.deploy.deployment import QUICK, Deployment


def test_a_dry_run_walks_and_switches_skills(tmp_path: Path) -> None:
    """A first run: stand up, walk with skills 2 and 3, lie down, exit code 0, report."""
    with Deployment(
        tmp_path / "run", *QUICK, "--skill", "2", "--then", "3", "--seconds", "0.9"
    ) as run:
        code = run.finish()
        assert code == 0, run.output
    summary = run.summary
    assert summary["problems"] == []
    assert [(entry["state"], entry.get("skill")) for entry in summary["history"]] == [
        ("IDLE", None), ("STAND", None), ("READY", None), ("WALK", 2), ("WALK", 3),
        ("STAND", None), ("READY", None), ("SIT", None), ("IDLE", None),
    ]  # fmt: skip
    assert summary["walk"]["falls"] == 0
    assert summary["walk"]["velocity"] > 0.8
    assert summary["walk"]["distance"] > 1.0
    assert 10.0 <= summary["delay_ms"]["min"] <= summary["delay_ms"]["max"] <= 25.0
    assert (summary["malformed"], summary["forged"], summary["dropped"]) == (0, 0, 0)
    assert summary["ended"] == "done"
    assert set(summary["timing"]) == {"lateness", "work", "age"}
    commands, states = run.logged(COMMAND_CHANNEL), run.logged(STATE_CHANNEL)
    assert {2, 3} <= {command.skill for command in commands}
    measured = np.abs([state.joint_torque for state in states]).max()
    assert measured <= TRAINING_LIMITS.torque + CURRENT_OFFSET * TORQUE_PER_AMPERE
    assert [state.sequence for state in states] == list(range(1, len(states) + 1))
    assert [command.state_sequence for command in commands] == [state.sequence for state in states]
    assert (tmp_path / "run" / "report.png").read_bytes().startswith(b"\x89PNG")
    assert not list((tmp_path / "run").glob("incident*"))
    assert "report: " in run.output


def test_a_dry_run_walks_in_mujoco(tmp_path: Path) -> None:
    """The same processes and messages; only the physics engine differs."""
    arguments = ("--robot", "mujoco", "--skill", "1", "--seconds", "1.6")
    with Deployment(tmp_path / "run", *QUICK, *arguments) as run:
        code = run.finish()
        assert code == 0, run.output
    assert run.summary["walk"]["falls"] == 0
    assert run.summary["walk"]["velocity"] > 0.8
    assert "walking with skill 1" in run.output


def test_a_dry_run_ends_at_its_bound(tmp_path: Path) -> None:
    """The walk stops early with exit code 0; the reason is in table, report and log."""
    arguments = ("--skill", "2", "--then", "3", "--seconds", "20", "--distance", "0.8")
    with Deployment(tmp_path / "run", *QUICK, *arguments) as run:
        code = run.finish()
        assert code == 0, run.output
    history = run.summary["history"]
    assert [(entry["state"], entry.get("skill")) for entry in history] == [
        ("IDLE", None), ("STAND", None), ("READY", None), ("WALK", 2),
        ("STAND", None), ("READY", None), ("SIT", None), ("IDLE", None),
    ]  # fmt: skip
    (end,) = run.logged(WALK_END_CHANNEL)
    assert 0.8 <= end.distance < 0.81
    assert end.seconds == pytest.approx(history[4]["time"] - history[3]["time"], abs=0.002)
    reason = f"distance reached: {end.distance:.2f} m in {end.seconds:.1f} s"
    assert [entry["reason"] for entry in history if "reason" in entry] == [reason]
    assert reason in run.output
    assert run.summary["walk"]["distance"] == pytest.approx(0.8, rel=0.25)
    found = replay(tmp_path / "run")
    assert found.difference is None
    assert found.ticks == len(run.logged(COMMAND_CHANNEL))


def test_the_same_seed_gives_the_same_numbers(tmp_path: Path) -> None:
    """In lock-step no bit depends on the load of the machine, even with two runs in parallel."""
    arguments = (
        *QUICK,
        "--skill",
        "2",
        "--seconds",
        "1.5",
        "--controller.stop-seconds",
        "0.2",
        "--seed",
        "5",
        "--defect-seed",
        "6",
    )
    with ExitStack() as stack:
        runs = [
            stack.enter_context(Deployment(tmp_path / name, *arguments))
            for name in ("first", "second")
        ]
        for run in runs:
            run.finish()
    first, second = (
        hashlib.sha256(
            np.array([state.joint_position for state in run.logged(STATE_CHANNEL)]).tobytes()
        ).hexdigest()
        for run in runs
    )
    assert first == second
    assert len(runs[0].logged(STATE_CHANNEL)) == len(runs[1].logged(STATE_CHANNEL)) > 3000


def test_the_robot_without_physics_runs_the_script(tmp_path: Path) -> None:
    """--mock tests the processes without physics, so its walk is not judged."""
    with Deployment(
        tmp_path / "run", "--mock", *QUICK, "--seconds", "0.1", "--controller.stop-seconds", "0.1"
    ) as run:
        code = run.finish()
        assert code == 0, run.output
    assert run.summary["robot"] == "mock"
    assert run.summary["walk"] is None
    assert "WALK" in [entry["state"] for entry in run.summary["history"]]


def test_read_only_never_commands(tmp_path: Path) -> None:
    """It senses, estimates, logs and ends by itself without sending a command."""
    with Deployment(tmp_path / "run", "--mock", "--readonly", "--seconds", "1") as run:
        run.listen(lambda heard: STATE_CHANNEL in heard)
        code = run.finish()
        run._ear.handle_timeout(0)
    assert COMMAND_CHANNEL not in run.counts
    assert run.logged(COMMAND_CHANNEL) == []
    assert len(run.logged(STATE_CHANNEL)) > 10
    assert run.summary["ended"] == "done"
    assert {entry["state"] for entry in run.summary["history"]} <= {
        "IDLE",
        "FAULT",
    }  # a stalled machine loses states
    assert code == bool(run.summary["problems"])
    robot = json.loads((tmp_path / "run" / "robot.json").read_text())
    assert robot["fault"] == "stopped by the operator"
    assert {state.command_sequence for state in run.logged(STATE_CHANNEL)} == {-1}


def test_a_key_of_the_user_signs_one_run(tmp_path: Path) -> None:
    """All processes derive the run's key; the user's key alone does not sign its messages."""
    write_key(tmp_path / "mine")
    arguments = ("--mock", *QUICK, "--seconds", "0.1", "--controller.stop-seconds", "0.1")
    with Deployment(tmp_path / "run", *arguments, "--key", str(tmp_path / "mine")) as run:
        assert run.finish() == 0, run.output
    assert (run.summary["malformed"], run.summary["forged"]) == (0, 0)
    assert not (tmp_path / "run" / KEY_FILE).exists()
    messages = read_log(tmp_path / "run" / LOG_FILE)
    sent = next(data for _, channel, data in messages if channel == STATE_CHANNEL)
    of_run = run_authority(tmp_path / "run", tmp_path / "run" / KEY_FILE, tmp_path / "mine")
    assert of_run.genuine(sent)
    assert not read_key(tmp_path / "mine").genuine(sent)
