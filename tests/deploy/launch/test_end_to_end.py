"""solo-deploy from the command line.

Two processes, real messages, in lock-step wherever a number is asserted.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from deploy.messages.lcm_link import COMMAND, STATE
from solo_doi.solo12.limits import TRAINING
from tests.deploy.deployment import QUICK, Deployment


def test_a_dry_run_walks_and_switches_skills(tmp_path: Path) -> None:
    """First steps of a user: stand up, walk with skills 2 and 3, lie down, exit code 0, report."""
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
    commands, states = run.logged(COMMAND), run.logged(STATE)
    assert {2, 3} <= {command.skill for command in commands}
    assert np.abs([state.joint_torque for state in states]).max() <= TRAINING.torque
    assert [state.sequence for state in states] == list(range(1, len(states) + 1))
    assert [command.state_sequence for command in commands] == [state.sequence for state in states]
    assert (tmp_path / "run" / "report.png").read_bytes().startswith(b"\x89PNG")
    assert not list((tmp_path / "run").glob("incident*"))
    assert "report: " in run.output


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
            np.array([state.joint_position for state in run.logged(STATE)]).tobytes()
        ).hexdigest()
        for run in runs
    )
    assert first == second
    assert len(runs[0].logged(STATE)) == len(runs[1].logged(STATE)) > 3000


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
    """Senses, estimates, logs and ends by itself; on the wire, not one command is seen."""
    with Deployment(tmp_path / "run", "--mock", "--readonly", "--seconds", "1") as run:
        run.listen(lambda heard: STATE in heard)
        code = run.finish()
        run._ear.handle_timeout(0)
    assert COMMAND not in run.counts
    assert run.logged(COMMAND) == []
    assert len(run.logged(STATE)) > 10
    assert run.summary["ended"] == "done"
    assert {entry["state"] for entry in run.summary["history"]} <= {
        "IDLE",
        "FAULT",
    }  # a stalled machine loses states
    assert code == bool(run.summary["problems"])
    robot = json.loads((tmp_path / "run" / "robot.json").read_text())
    assert robot["fault"] == "stopped by the operator"
    assert {state.command_sequence for state in run.logged(STATE)} == {-1}
