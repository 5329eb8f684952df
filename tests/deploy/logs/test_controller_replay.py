"""Replay of logs: identical bits with the same code, else the first difference is named."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from mcap.reader import make_reader

from deploy.cli import deploy as cli
from deploy.common.deploy_config import CONFIG_FILE, ControllerConfig, DeployConfig
from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.logs.controller_replay import replay
from deploy.logs.mcap_log import export
from deploy.messages.conversions import state_message
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATE_CHANNEL,
    STATUS_CHANNEL,
    Request,
    blank,
)
from deploy.messages.operator_request import OperatorRequest, operator_message
from deploy.recorder.recorder import LOG_FILE, write_log
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from tests.deploy.stage import sensors, shipped
from tests.deploy.world import Rig

TICKS = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with the log of a deployment in which the robot stands up."""
    config = DeployConfig(
        skill=3, controller=ControllerConfig(stand_seconds=0.2, power_seconds=0.1)
    )
    controller = Controller(shipped(), config.skill, config.controller)
    events = []
    for tick in range(TICKS):
        state = state_message(sensors(1.0 + tick / 1000))
        state.sequence, state.session = tick + 1, 7
        controller.on_robot_state(state)
        events.append((tick, STATE_CHANNEL, state.encode()))
        request = OperatorRequest({50: Request.STAND, 350: Request.SIT}.get(tick, Request.NOTHING))
        if request.request:
            events.append(
                (tick, OPERATOR_CHANNEL, operator_message(request, tick, state.time_ns).encode())
            )
        controller.on_operator_request(request.request, state.time_ns, request.skill)
        events.append((tick, COMMAND_CHANNEL, controller.tick(state.time_ns).encode()))
    write_log(events, tmp_path / LOG_FILE)
    (tmp_path / CONFIG_FILE).write_text(settings.to_yaml(config))
    return tmp_path


def test_the_same_code_answers_the_same(folder: Path) -> None:
    """All commands are equal to the last bit."""
    found = replay(folder)
    assert (found.ticks, found.difference, found.largest) == (TICKS, None, 0.0)


def test_the_first_difference_is_named(folder: Path) -> None:
    """Another configuration makes the gain grow later, from the second powered tick on."""
    path = folder / CONFIG_FILE
    path.write_text(path.read_text().replace("power_seconds: 0.1", "power_seconds: 0.2"))
    found = replay(folder / LOG_FILE)
    assert found.difference is not None
    assert (found.difference.tick, found.difference.term) == (52, "kp")
    assert found.difference.replayed == pytest.approx(found.difference.logged / 2)
    assert str(found.difference) == "tick 52: kp was 0.05, is now 0.025"


def test_what_was_ended_by_lateness_is_ended_by_it_again(tmp_path: Path) -> None:
    """The fault has no other cause than late ticks, which are in the log."""

    def stall(rig: Rig) -> None:
        original = rig.loop._tick

        def slow(now_ns: int) -> None:
            original(now_ns)
            rig.clock.sleep(0.0045 if rig.loop.report.ticks % 10 == 0 else 0.0)

        rig.loop._tick = slow  # type: ignore[method-assign]

    rig = Rig(stall, robot="mock", state=ControllerState.READY, after=0.0, watch=0.3).run()
    assert rig.controller.fault is not None
    assert rig.controller.fault.cause is Cause.OVERRUN
    write_log(rig.recorder.events, tmp_path / LOG_FILE)
    config = DeployConfig(skill=2, controller=rig.controller.config)
    (tmp_path / CONFIG_FILE).write_text(settings.to_yaml(config))
    assert replay(tmp_path).difference is None


def test_a_stall_between_receiving_and_the_tick_is_replayed(tmp_path: Path) -> None:
    """The lateness that excuses an old state is in the log."""

    def stall(rig: Rig) -> None:
        original = rig.links[1].receive

        def slow(timeout: float = 0.0) -> int:
            count = original(timeout)
            if rig.loop.report.ticks % 130 == 0:
                rig.clock.sleep(0.0155)
            return count

        rig.links[1].receive = slow  # type: ignore[method-assign]

    rig = Rig(stall, robot="mock", state=ControllerState.READY, after=0.0, watch=0.5).run()
    assert rig.controller.fault is None
    assert rig.loop.report.overruns >= 3
    write_log(rig.recorder.events, tmp_path / LOG_FILE)
    config = DeployConfig(skill=2, controller=rig.controller.config)
    (tmp_path / CONFIG_FILE).write_text(settings.to_yaml(config))
    assert replay(tmp_path).difference is None


def test_what_cannot_be_run_again_is_refused(folder: Path, tmp_path: Path) -> None:
    """Refused are a log without its beginning, an invalid lateness, and a missing log."""
    content = (folder / LOG_FILE).read_bytes()
    second = content.index(b"\xed\xa1\xda\x01", content.index(b"SOLO_COMMAND"))
    (folder / LOG_FILE).write_bytes(content[second:])
    with pytest.raises(SoloError, match="only a log from the start"):
        replay(folder)
    for lateness in (math.nan, math.inf, -1.0):
        status = blank(STATUS_CHANNEL)
        status.lateness = lateness
        write_log([(0, STATUS_CHANNEL, status.encode())], folder / LOG_FILE)
        with pytest.raises(
            SoloError, match="holds a message of 'SOLO_STATUS' that this version does not read"
        ):
            replay(folder)
    lonely = tmp_path / "lonely" / "log.lcm"
    lonely.parent.mkdir()
    lonely.write_bytes(b"")
    with pytest.raises(SoloError, match=r"lonely/log.lcm: config.yaml is not beside it"):
        replay(lonely)
    with pytest.raises(SoloError, match="no such file"):
        replay(tmp_path / "nowhere")


def test_a_log_that_cannot_be_run_again_can_be_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Incidents of long runs cannot be replayed; MCAP is written before the refusal."""
    content = (folder / LOG_FILE).read_bytes()
    (folder / LOG_FILE).write_bytes(
        content[content.index(b"\xed\xa1\xda\x01", content.index(b"SOLO_COMMAND")) :]
    )
    monkeypatch.setattr(
        sys, "argv", ["solo-deploy", "replay", str(folder), "--mcap", str(folder / "log.mcap")]
    )
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 1
    assert "begins at tick 2; only a log from the start can be replayed" in capsys.readouterr().err
    assert (folder / "log.mcap").stat().st_size > 1000


def test_what_is_no_number_is_null_to_viewers(folder: Path) -> None:
    """NaN is not valid JSON, and incidents may contain it."""
    state = state_message(sensors(1.0))
    state.joint_velocity = [math.nan, math.inf, *state.joint_velocity[2:]]
    write_log([(0, STATE_CHANNEL, state.encode())], folder / LOG_FILE)
    assert export(folder / LOG_FILE, folder / "log.mcap") == 1
    with (folder / "log.mcap").open("rb") as file:
        ((_, _, message),) = make_reader(file).iter_messages()
    row = json.loads(message.data, parse_constant=pytest.fail)
    assert row["joint_velocity"][:2] == [None, None]


def test_an_unreadable_log_is_not_reported_as_the_output(tmp_path: Path) -> None:
    """The error names the log, and no file is made."""
    log = tmp_path / LOG_FILE
    with pytest.raises(SoloError, match=r"^\S*log\.lcm: cannot be read \(No such file") as error:
        export(log, tmp_path / "out" / "log.mcap")
    assert "log.mcap" not in str(error.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_the_command_says_so_and_writes_mcap(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has every message as JSON, and the command prints the result."""
    path = folder / "log.mcap"
    monkeypatch.setattr(sys, "argv", ["solo-deploy", "replay", str(folder), "--mcap", str(path)])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 0
    assert f"{TICKS} ticks, 0 observations, all the same" in capsys.readouterr().out
    with path.open("rb") as file:
        rows = [
            (channel.topic, json.loads(message.data))
            for _, channel, message in make_reader(file).iter_messages()
        ]
    assert len(rows) == 2 * TICKS + 2
    states = [row for topic, row in rows if topic == STATE_CHANNEL]
    assert [row["sequence"] for row in states] == list(range(1, TICKS + 1))
    assert len(states[0]["joint_position"]) == 12
