"""Consent before the motors of a real robot are switched on: only Enter after the question."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from deploy.console.consent import QUESTION, ask_before_bring_up
from deploy.robots.odri.bring_up.calibration import save
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.common.errors import SoloError
from tests.deploy.deployment import TEST_TIMEOUT, Deployment


def answering(terminal: int, keys: bytes) -> None:
    """Ask, and type the answer after the question appears."""
    shown: list[str] = []

    def write(text: str) -> None:
        shown.append(text)
        os.write(terminal, keys)

    ask_before_bring_up(write)
    assert shown == [QUESTION]


@pytest.mark.parametrize("keys", [b"\n", b"\r"])
def test_enter_begins(terminal: int, keys: bytes) -> None:
    """Keyboards and terminals send Enter in several ways."""
    answering(terminal, keys)


@pytest.mark.parametrize(
    "keys", [b"n\n", b"y\n", b" \n", b"q\n", b"\x04", b"enter\n", "\u0663\n".encode()]
)
def test_anything_else_does_not(terminal: int, keys: bytes) -> None:
    """`yes` and the end of the input are refused as well."""
    with pytest.raises(SoloError, match="nothing was started, nothing has moved"):
        answering(terminal, keys)


def test_enter_before_the_question_is_no_answer(terminal: int) -> None:
    """The key may still be pressed, or a line may be pasted."""
    os.write(terminal, b"\n\n")
    assert select.select([sys.stdin], [], [], TEST_TIMEOUT)[0]  # the keys have arrived
    with pytest.raises(SoloError):
        answering(terminal, b"n\n")


def test_a_terminal_that_is_gone_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal is closed before the question, or while it waits."""
    for when in ("before", "meanwhile"):
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "r") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            if when == "before":
                os.close(ours)
            with pytest.raises(SoloError):
                ask_before_bring_up(
                    lambda _, end=ours, now=when == "meanwhile": os.close(end) if now else None
                )  # type: ignore[misc]


# --- The command itself, with a card that does not exist -----------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> tuple[str, ...]:
    """Flags of a robot with a network card that does not exist."""
    save(replace(CALIBRATION, measured=date.today()), tmp_path / "robot.json")
    return (
        "--robot",
        "real",
        "--skip-check",
        "--allow-jitter",
        "--interface",
        "nocard",
        "--calibration",
        str(tmp_path / "robot.json"),
    )


@pytest.mark.parametrize("operator", ["script", "keyboard"])
def test_no_process_starts_before_consent(
    operator: str, real: tuple[str, ...], tmp_path: Path
) -> None:
    """This holds for any waiting time; after a refusal no file is left."""
    with Deployment(tmp_path / "run", *real, "--operator", operator) as run:
        time.sleep(3.0)
        assert not run.out.exists()
        run.type_until("no\n", lambda: not run.alive)
        assert run.finish() == 1
    assert QUESTION in run.output
    assert "solo-deploy: Not agreed to: nothing was started, nothing has moved." in run.output
    assert not run.out.exists()


def test_a_failed_bring_up_is_reported(real: tuple[str, ...], tmp_path: Path) -> None:
    """The network card does not exist; the run ends by itself and reports the cause."""
    with Deployment(tmp_path / "run", *real, "--operator", "keyboard") as run:
        run.type_until("\n", run.out.exists)
        begun = time.monotonic()
        assert run.finish() == 1
        assert time.monotonic() - begun < TEST_TIMEOUT / 2
    assert "nocard" in run.output
    assert "fault: the robot process ended without a report" in run.output
    assert "Traceback" not in run.output
