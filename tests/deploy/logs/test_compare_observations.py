"""Observations in the log: a replay names the first term that differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.common.deploy_config import CONFIG_FILE, DeployConfig
from deploy.controller import motion as mover
from deploy.logs.controller_replay import replay
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OBSERVATION_CHANNEL,
    STATE_CHANNEL,
    Mode,
    blank,
    decode,
)
from deploy.recorder.recorder import LOG_FILE, read_log, write_log
from solo_doi.common import settings
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS
from solo_doi.solo12.estimator import Estimator, EstimatorConfig
from solo_doi.solo12.observation import LAYOUTS
from tests.deploy.world import Rig

LAYOUT = LAYOUTS["locomotion"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log folder of a robot that stood up in PyBullet and walked for a third of a second."""
    path = tmp_path_factory.mktemp("walk")
    rig = Rig(lambda _: None, watch=0.15).run()
    write_log(rig.recorder.events, path / LOG_FILE)
    config = DeployConfig(skill=2, controller=rig.controller.config)
    (path / CONFIG_FILE).write_text(settings.to_yaml(config))
    return path


def logged(folder: Path, channel: str) -> list[Any]:
    """Return the logged messages of a channel."""
    return [
        decode(channel, data) for _, name, data in read_log(folder / LOG_FILE) if name == channel
    ]


def test_the_log_holds_every_input_of_the_policy(folder: Path) -> None:
    """The log has one input for each policy step.

    It has the layout of the bundle, and belongs to the state that was acted on.
    """
    seen, commands = (
        logged(folder, OBSERVATION_CHANNEL),
        {command.sequence: command for command in logged(folder, COMMAND_CHANNEL)},
    )
    walking = [number for number, command in commands.items() if command.mode == Mode.POLICY]
    assert [message.sequence for message in seen] == walking[::20]
    assert len(seen) > 10
    states = {state.sequence: state for state in logged(folder, STATE_CHANNEL)}
    for message in seen:
        state = states[commands[message.sequence].state_sequence]
        values = np.array(message.observation)
        offset = np.array(state.joint_position) - CONTROL_SETUPS["locomotion"].default_pose
        np.testing.assert_array_equal(values[LAYOUT.slices["joint_position"]], np.float32(offset))
        np.testing.assert_array_equal(
            values[LAYOUT.slices["joint_velocity"]], np.float32(state.joint_velocity)
        )
        assert message.skill == 2


def test_the_message_has_room_for_the_layout() -> None:
    """The .lcm file has a fixed length, which must be that of the layout."""
    assert (
        len(blank(OBSERVATION_CHANNEL).observation)
        == LAYOUT.size
        == len(LAYOUT.names)
        == len(set(LAYOUT.names))
    )


def test_the_same_program_sees_the_same(folder: Path) -> None:
    """Observations are equal to the last bit, with estimator, filters and action feedback."""
    found = replay(folder)
    assert found.difference is None
    assert found.observations > 10
    assert set(found.terms.values()) == {0.0}
    assert str(found) == f"{found.ticks} ticks, {found.observations} observations, all the same"


def turned(name: str) -> Any:  # a function
    """Return a motion function that scales a term of the last joint by 1.01."""
    motion = mover.estimated_motion

    def spoilt(*arguments: Any) -> Any:
        seen = motion(*arguments)
        scale = np.where(np.arange(NUM_JOINTS) == NUM_JOINTS - 1, 1.01, 1.0)
        return replace(seen, **{name: getattr(seen, name) * scale})

    return spoilt


@pytest.mark.parametrize(
    ("place", "planted", "term"),
    [
        (
            "controller.controller.Estimator",
            lambda: Estimator(EstimatorConfig(velocity_rate=19.0)),
            "linear_velocity.x",
        ),
        ("controller.motion.estimated_motion", turned("joint_velocity"), "joint_velocity.HR_KFE"),
        ("controller.motion.estimated_motion", turned("joint_position"), "joint_position.HR_KFE"),
    ],
    ids=["velocity gain", "joint velocity", "joint position"],
)
def test_a_planted_change_is_named_where_it_is_first_seen(
    place: str,
    planted: Callable[..., Any],
    term: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is named at the first policy step, before any command differs, with its size per term."""
    monkeypatch.setattr(f"deploy.{place}", planted)
    found = replay(folder)
    assert found.difference is not None
    assert found.difference.tick == logged(folder, OBSERVATION_CHANNEL)[0].sequence
    assert found.difference.term == f"observation {term}"
    assert f"first difference at tick {found.difference.tick}: observation {term} was " in str(
        found
    )
    assert f"; observation {term.partition('.')[0]} " in str(found)


def test_a_log_without_observations_can_be_run_again(folder: Path, tmp_path: Path) -> None:
    """Logs of older versions have no observations; only commands are compared."""
    events = [event for event in read_log(folder / LOG_FILE) if event[1] != OBSERVATION_CHANNEL]
    write_log(events, tmp_path / LOG_FILE)
    (tmp_path / CONFIG_FILE).write_bytes((folder / CONFIG_FILE).read_bytes())
    found = replay(tmp_path)
    assert (found.observations, found.difference) == (0, None)
    assert found.ticks > 1000
