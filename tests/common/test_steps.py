"""Steps of long commands on the terminal."""

from __future__ import annotations

import io
import os
import sys

import pytest

from solo_doi.common import steps
from solo_doi.common.command_line import Command, Program
from solo_doi.common.steps import PLAIN_VARIABLE, is_plain, make_plain, show_next, shown_steps, step
from tests.common.settings.sample_settings import Outer


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores the variables that --plain sets."""
    for name in (PLAIN_VARIABLE, "NO_COLOR", "TERM"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("environment")
def test_plain_steps_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    make_plain()
    assert is_plain()
    assert os.environ["TERM"] == "dumb"
    with shown_steps("solo-eval"):
        for text in ("one", "one", "two"):
            step(text)
    step("after the end")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" s: ")[1] for line in lines] == ["one", "two"]
    assert all(line.startswith("solo-eval: ") for line in lines)


@pytest.mark.usefixtures("environment")
def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_steps("solo-eval"):
        step("one")
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("environment")
def test_a_terminal_shows_the_newest_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with shown_steps("solo-eval"):
        step("rollouts of skill 3")
        assert steps._report is not steps._ignore
    assert steps._report is steps._ignore
    assert "\x1b[" in screen.getvalue()  # one line that is written over and over


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "words", [["--plain"], ["--plain", "--name", "a"], ["--name=a", "--plain"]]
)
def test_every_program_takes_the_flag(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    program = Program("solo-x", lambda: Command(Outer, lambda command: seen.append(is_plain())))
    monkeypatch.setattr(sys, "argv", ["solo-x", *words])
    with pytest.raises(SystemExit) as end:
        program.run()
    assert end.value.code == 0
    assert seen == [True]


def test_next_commands_are_the_last_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_next("solo-eval runs/a", "solo-export runs/a")
    assert capsys.readouterr().out == "next: solo-eval runs/a\nnext: solo-export runs/a\n"
