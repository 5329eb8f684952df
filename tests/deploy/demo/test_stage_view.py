"""Progress of the demonstration on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from deploy.demo.stage_view import StageView


def test_a_terminal_shows_a_table_that_changes() -> None:
    """Every state is on the screen at its time; commands are above the table."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with StageView({"collect": "Collect", "train": "Train"}, console) as view:
        assert screen.getvalue().count("waiting") == 2
        view.begin("collect", "solo-collect --scale [0.1]")
        assert "$ solo-collect --scale [0.1]" in screen.getvalue()
        view.progress("collect", "[3 of 8]")
        assert "0 s  [3 of 8]" in screen.getvalue()
        view.end("collect", "12 s")
    last = screen.getvalue().splitlines()[-3:]
    assert any("Collect" in line and "12 s" in line for line in last)
    assert any("Train" in line and "waiting" in line for line in last)
