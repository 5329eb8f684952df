"""The supervisor before processes start, and after they have ended."""

from __future__ import annotations

import errno
import subprocess
import time
from pathlib import Path

import pytest

from deploy.common.deploy_config import DeployConfig
from deploy.console.gamepad import Gamepad
from deploy.launch import supervisor
from deploy.recorder.recorder import WORK_FILE
from solo_doi.common.errors import SoloError


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the waiting times of a clock that advances only by waiting [s]."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(time, "monotonic", lambda: sum(waited))
    return waited


def test_without_a_recorder_no_log_is_awaited(waits: list[float], tmp_path: Path) -> None:
    """A controller that ended during its start has no recorder yet."""
    supervisor._await_log(tmp_path)
    assert waits == []


def test_a_recorder_at_work_is_waited_for(waits: list[float], tmp_path: Path) -> None:
    """The wait has a limit."""
    (tmp_path / WORK_FILE).touch()
    supervisor._await_log(tmp_path)
    assert sum(waits) == pytest.approx(supervisor.END_TIMEOUT, abs=0.1)


class Pad:
    """Input device that one program at a time can hold."""

    def __init__(self, *, held: bool) -> None:
        """Start as held by another program, or free."""
        self.held = held

    def grab(self) -> None:
        """Acquire the device."""
        if self.held:
            raise OSError(errno.EBUSY, "Device or resource busy")
        self.held = True

    def ungrab(self) -> None:
        """Release the device."""
        self.held = False

    def read_one(self) -> None:
        """Return no event."""


def test_a_gamepad_in_use_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would look like a lost operator and a good run."""

    def start(*_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(
        supervisor, "make_device", lambda _: Gamepad(Pad(held=True), dead_man=False)
    )
    monkeypatch.setattr(supervisor, "_start_robot", start)
    config = DeployConfig(robot="mock", operator="gamepad")
    with pytest.raises(
        SoloError,
        match=r"The gamepad cannot be acquired \(Device or resource busy\). End the program",
    ):
        supervisor.supervise(config, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_gamepad_is_taken_once_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds even if the run fails."""
    pad, held = Pad(held=False), []

    def accompany(_: object, __: object, device: Gamepad, *___: object) -> None:
        with device:
            held.append(pad.held)
        held.append(pad.held)
        raise ZeroDivisionError

    monkeypatch.setattr(supervisor, "make_device", lambda _: Gamepad(pad, dead_man=False))
    monkeypatch.setattr(supervisor, "_start_robot", lambda *_: None)
    monkeypatch.setattr(supervisor, "_accompany", accompany)
    monkeypatch.setattr(supervisor, "on_ending", lambda _: None)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: None)
    with pytest.raises(ZeroDivisionError):
        supervisor.supervise(DeployConfig(robot="mock", operator="gamepad"), tmp_path / "run")
    assert held == [True, True]
    assert not pad.held
