"""Report: every problem as a sentence, exit code, figures, picture."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.common.deploy_config import DeployConfig
from deploy.common.state_machine import ControllerState
from deploy.common.walk_summary import WalkSummary
from deploy.controller.controller_process import percentiles
from deploy.launch.deployment_report import DeploymentSummary, find_problems, summarise
from deploy.launch.supervisor import _show
from deploy.logs.log_picture import draw
from deploy.recorder.recorder import write_log
from tests.deploy.world import Rig, shipped

CONTROLLER: dict[str, Any] = {"faults": [], "ended": "done"}
WALK = {"walked_seconds": 3.0, "distance": 2.9, "velocity": 0.98, "falls": 0, "energy": 12.0}
LOST = "no state from the robot process for 10 s"
ROBOT: dict[str, Any] = {"fault": None, "walk": WALK}
SCRIPT = DeployConfig()
PERSON = DeployConfig(operator="keyboard")


def problems(
    controller: dict[str, Any], robot: dict[str, Any], config: DeployConfig, commanded: float
) -> list[str]:
    """Return the problems of two reports; the robot's has the walk, if there is one."""
    walk = robot.get("walk")
    if walk is not None:
        walk = WalkSummary.from_json(walk)
    return find_problems(controller, robot, walk, config, commanded)


def test_a_good_walk_has_no_problems() -> None:
    """A good dry run; the usual end of the robot process is no problem either."""
    assert problems(CONTROLLER, ROBOT, SCRIPT, 1.0) == []
    assert problems(CONTROLLER, ROBOT | {"fault": "stopped by the operator"}, SCRIPT, 1.0) == []


@pytest.mark.parametrize(
    ("controller", "robot", "words"),
    [
        ({"faults": ["the base is tilted by 1.10 rad"]}, {}, "the base is tilted by 1.10 rad"),
        ({}, {"fault": "no fresh command for 21 ms"}, "robot: no fresh command for 21 ms"),
        ({"ended": LOST}, {}, LOST),
        ({"ended": "no state of the robot arrived"}, {}, "no state of the robot arrived"),
        ({"ended": "stopped"}, {}, "stopped before the script was done"),
        ({"ended": ""}, {}, "the controller's report has no reason"),
        ({}, {"walk": WALK | {"falls": 2}}, "the robot fell 2 time(s)"),
        ({}, {"walk": WALK | {"velocity": 0.49}}, "the robot did not walk: 0.49 m/s of 1.00"),
    ],
)
def test_each_problem_is_listed(
    controller: dict[str, Any], robot: dict[str, Any], words: str
) -> None:
    """Each error gives one sentence; any sentence makes the exit code 1."""
    assert problems(CONTROLLER | controller, ROBOT | robot, SCRIPT, 1.0) == [words]


def test_processes_without_a_report_are_problems() -> None:
    """A killed process writes no report, which is a problem by itself."""
    assert problems({}, ROBOT, SCRIPT, 1.0) == ["the controller ended without a report"]
    assert problems(CONTROLLER, {}, SCRIPT, 1.0) == ["the robot process ended without a report"]


def test_several_problems_are_all_listed() -> None:
    """The first may be a consequence of the last."""
    found = problems({"faults": ["a", "b"], "ended": LOST}, {}, SCRIPT, 1.0)
    assert found == ["a", "b", "the robot process ended without a report", LOST]


def test_only_scripts_must_walk() -> None:
    """An operator may stand and stop at any time; a read-only run never walks."""
    still = ROBOT | {"walk": WALK | {"velocity": 0.0, "walked_seconds": 1.4}}
    assert problems(CONTROLLER | {"ended": "stopped"}, still, PERSON, 1.0) == []
    assert problems(CONTROLLER, still, DeployConfig(readonly=True), 1.0) == []
    assert (
        problems(CONTROLLER, ROBOT | {"walk": None}, SCRIPT, 1.0) == []
    )  # a robot without physics


def test_a_long_walk_of_an_operator_is_judged() -> None:
    """The criteria are those of a scripted walk."""
    assert problems(CONTROLLER, ROBOT | {"walk": WALK | {"velocity": 0.3}}, PERSON, 1.0) != []
    assert problems(CONTROLLER, ROBOT, PERSON, 1.0) == []


def test_a_bound_may_end_a_walk_before_it_can_be_judged() -> None:
    """A short walk to the bound has no velocity after its start-up; a fall still counts."""
    reached = CONTROLLER | {
        "history": [{"time": 1.0, "state": "STAND", "reason": "distance reached: 0.50 m in 0.8 s"}]
    }
    short = WALK | {"velocity": 0.0, "walked_seconds": 0.8}
    assert problems(reached, ROBOT | {"walk": short}, SCRIPT, 1.0) == []
    assert problems(CONTROLLER, ROBOT | {"walk": short}, SCRIPT, 1.0) != []
    fallen = ROBOT | {"walk": short | {"falls": 1}}
    assert problems(reached, fallen, SCRIPT, 1.0) == ["the robot fell 1 time(s)"]
    slow = ROBOT | {"walk": WALK | {"velocity": 0.3, "walked_seconds": 1.5}}
    assert problems(reached, slow, SCRIPT, 1.0) == ["the robot did not walk: 0.30 m/s of 1.00"]


def test_a_real_walk_is_judged_by_the_robots_own_estimate(tmp_path: Path) -> None:
    """Every figure is marked as estimated; a scripted robot that did not walk is a problem."""
    real = DeployConfig(robot="real", interface="e0")
    for velocity, good in ((0.9, True), (0.2, False)):
        estimated = WALK | {"velocity": velocity, "commanded": 1.0, "estimated": True}
        (tmp_path / "controller.json").write_text(
            json.dumps(CONTROLLER | {"walk": estimated, "ended": "stopped"})
        )
        (tmp_path / "robot.json").write_text(json.dumps({"fault": None}))
        (tmp_path / "config.yaml").write_text("")  # an incident keeps it
        write_log([], tmp_path / "log.lcm")
        summary = summarise(tmp_path, shipped(), real)
        assert summary.good is good
        assert text_of(summary).count("estimated") == 4


@pytest.mark.parametrize(
    ("commanded", "velocity", "walked"),
    [(-0.5, -0.4, True), (-0.5, 0.4, False), (-0.5, -0.2, False), (0.0, 0.0, True)],
)
def test_backwards_is_a_direction(commanded: float, velocity: float, walked: bool) -> None:
    """A command to walk backwards needs half of its velocity, backwards."""
    robot = ROBOT | {"walk": WALK | {"velocity": velocity}}
    assert (problems(CONTROLLER, robot, SCRIPT, commanded) == []) is walked


def test_the_summary_has_every_figure_and_a_picture(tmp_path: Path) -> None:
    """Table and file agree, and a short run can be drawn."""
    rig = Rig(
        robot="mock", state=ControllerState.READY, after=0.0, watch=0.05, inject=lambda _: None
    ).run()
    write_log(rig.recorder.events, tmp_path / "log.lcm")
    timing = {"p50_us": 10.0, "p99_us": 20.0, "p99.9_us": 30.0, "max_us": 40.0}
    controller = CONTROLLER | {
        "lateness": timing,
        "work": timing,
        "age": timing,
        "ticks": 9,
        "overruns": 1,
        "history": [{"time": 1.0, "state": "STAND", "reason": "distance reached: 2.00 m in 2.3 s"}],
    }
    (tmp_path / "controller.json").write_text(
        json.dumps(controller | {"forged": 2, "malformed": 1, "unsent": 4})
    )
    robot = ROBOT | {
        "forged": 3,
        "dropped": 7,
        "unsent": 5,
        "delay_ms": {"min": 15, "p50": 15, "max": 16},
        "rejected": {"velocities": 7, "imu zero frames": 2},
        "holds": 3,
        "refused": ["no"],
    }
    (tmp_path / "robot.json").write_text(json.dumps(robot))
    summary = summarise(tmp_path, shipped(), SCRIPT)
    content = json.loads((tmp_path / "summary.json").read_text())
    assert content == json.loads(json.dumps(summary.content))
    assert summary.good
    assert summary.refused == ["no"]
    assert {name: content[name] for name in ("forged", "malformed", "dropped", "unsent",
    "commanded")} == {
        "forged": 5, "malformed": 1, "dropped": 7, "unsent": 9, "commanded": 1.0,
    }  # fmt: skip
    assert content["delay_ms"]["max"] == 16
    assert content["rejected"] == {"velocities": 7, "imu zero frames": 2}
    assert content["holds"] == 3
    assert content["software"]
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    shown = text_of(summary)
    for words in (
        "0.98 m/s, 98% of the command",
        "2.90 m in 3.0 s",
        "distance reached: 2.00 m in 2.3 s",
        "tick lateness, us",
        "p99.9 30",
        "9, 1",
    ):
        assert words in shown


def test_ticks_skipped_by_a_board_are_in_the_summary(tmp_path: Path) -> None:
    """The summary counts the ticks that a late board skipped; other robots have zero."""
    for board, left_out in ({"track": [], "left_out": 12}, 12), (None, 0):
        (tmp_path / "board.json").unlink(missing_ok=True)
        if board is not None:
            (tmp_path / "board.json").write_text(json.dumps(board))
        assert summarise(tmp_path, shipped(), SCRIPT).content["board_left_out"] == left_out


def test_when_a_robot_gave_up_is_in_the_summary(tmp_path: Path) -> None:
    """A failed bring-up is not a fault of the controller; its time is in the robot's report."""
    (tmp_path / "robot.json").write_text(
        json.dumps({"fault": "Bring-up failed", "gave_up_at": 12.5})
    )
    assert summarise(tmp_path, shipped(), SCRIPT).content["robot_gave_up_at"] == 12.5


def test_a_summary_without_any_report(tmp_path: Path) -> None:
    """Both processes were killed early; the run still has a table, a file and exit code 1."""
    summary = summarise(tmp_path, shipped(), SCRIPT)
    assert not summary.good
    assert len(summary.problems) == 3  # there is no log
    assert "0, 0" in text_of(summary)
    assert not (tmp_path / "report.png").exists()


def test_brackets_in_a_fault_are_no_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages of exceptions and of the system are shown unchanged."""
    summary = summarise(tmp_path, shipped(), SCRIPT)
    summary.content["problems"], summary.content["refused"] = (
        ["list [/bold] [red]index"],
        ["[Errno 1] [/]"],
    )
    _show(summary)
    shown = capsys.readouterr().out
    assert "fault: list [/bold] [red]index" in shown
    assert "note: [Errno 1] [/]" in shown


def test_a_log_without_states_is_not_drawn(tmp_path: Path) -> None:
    """An empty log is not an error."""
    write_log([], tmp_path / "log.lcm")
    assert draw(tmp_path) is None


def test_percentiles_are_in_microseconds() -> None:
    """The input has known numbers, or is empty."""
    import numpy as np

    assert percentiles(np.arange(1001) * 1e-6) == {
        "p50_us": 500,
        "p99_us": 990,
        "p99.9_us": 999,
        "max_us": 1000,
    }
    assert percentiles(np.zeros(0)) == {}


def text_of(summary: DeploymentSummary) -> str:
    """Return the table for a wide terminal."""
    stream = io.StringIO()
    Console(width=200, file=stream).print(summary.table())
    return stream.getvalue()


@pytest.mark.parametrize("commanded", [0.0, float("nan")])
def test_a_walk_without_a_command_has_no_percentage(commanded: float, tmp_path: Path) -> None:
    """An operator may never have commanded a velocity."""
    content = {
        "commanded": commanded,
        "history": [],
        "timing": {},
        "delay_ms": None,
        "ticks": 0,
        "overruns": 0,
    }
    summary = DeploymentSummary(tmp_path, content, WalkSummary.from_json(WALK))
    text = text_of(summary)
    assert "0.98 m/s" in text
    assert "%" not in text
    assert "nan" not in text
