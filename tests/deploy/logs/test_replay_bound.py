"""A walk that ended at its bound is in log and report, and a replay ends it in the same tick."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.common.deploy_config import CONFIG_FILE, DeployConfig
from deploy.common.state_machine import ControllerState
from deploy.logs.controller_replay import replay
from deploy.messages.lcm_link import COMMAND_CHANNEL, WALK_END_CHANNEL, decode
from deploy.messages.walk_end_message import walk_end_of
from deploy.operators.operators import Script
from deploy.recorder.recorder import LOG_FILE, write_log
from solo_doi.common import settings
from tests.deploy.world import Rig

DISTANCE = 0.3


@pytest.fixture(scope="module")
def rig() -> Rig:
    """A robot that walked by a script to its bound, and lay down."""
    return Rig(operator=Script((2,), 9.0, settle=1.0), distance=DISTANCE).run()


@pytest.fixture
def folder(rig: Rig, tmp_path: Path) -> Path:
    """Folder with log and settings of that robot."""
    write_log(rig.recorder.events, tmp_path / LOG_FILE)
    config = DeployConfig(skill=2, controller=rig.controller.config, distance=DISTANCE)
    (tmp_path / CONFIG_FILE).write_text(settings.to_yaml(config))
    return tmp_path


def test_the_walk_ends_as_by_the_script_with_its_reason(rig: Rig) -> None:
    """The states are those of an ordinary run; report and log have the reason and its figures."""
    assert rig.problems == []
    history = rig.loop.report.history
    assert [entry["state"] for entry in history] == [
        "IDLE", "STAND", "READY", "WALK", "STAND", "READY", "SIT", "IDLE",
    ]  # fmt: skip
    (data,) = [data for _, channel, data in rig.recorder.events if channel == WALK_END_CHANNEL]
    message = decode(WALK_END_CHANNEL, data)
    assert message is not None
    end = walk_end_of(message)
    assert DISTANCE <= end.distance < DISTANCE + 0.005
    assert [entry.get("reason") for entry in history if entry["state"] == "STAND"] == [
        None,
        str(end),
    ]
    assert end.seconds == pytest.approx(history[4]["time"] - history[3]["time"], abs=0.003)
    assert message.session == rig.controller.session


def test_the_end_is_logged_with_its_command(rig: Rig) -> None:
    """It has the number of the first command after the walk, which still holds positions."""
    commands = {}
    for _, channel, data in rig.recorder.events:
        message = decode(channel, data)
        assert message is not None
        if channel == WALK_END_CHANNEL:
            sequence = message.sequence
        elif channel == COMMAND_CHANNEL:
            commands[message.sequence] = message
    assert (commands[sequence - 1].skill, commands[sequence].skill) == (2, -1)
    assert commands[sequence].kp > 0.0


def test_a_replay_ends_the_walk_in_the_same_tick(rig: Rig, folder: Path) -> None:
    """All commands of the replay are equal to the last bit."""
    found = replay(folder)
    assert (found.ticks, found.difference) == (rig.loop.report.ticks, None)


@pytest.mark.parametrize(("distance", "walks"), [("null", True), ("0.29", False)])
def test_a_replay_with_another_bound_names_the_difference(
    rig: Rig, folder: Path, distance: str, walks: bool
) -> None:
    """Without a bound the walk continues; with a smaller one it ends earlier."""
    path = folder / CONFIG_FILE
    before = path.read_text()
    path.write_text(before.replace(f"\ndistance: {DISTANCE}", f"\ndistance: {distance}"))
    assert path.read_text() != before
    found = replay(folder)
    assert found.difference is not None
    assert found.difference.term == "skill"
    skills = (found.difference.logged, found.difference.replayed)
    assert skills == ((-1, 2) if walks else (2, -1))
    assert rig.controller.state is ControllerState.IDLE
