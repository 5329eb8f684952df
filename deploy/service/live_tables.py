"""Live tables of a robot on the workbench."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from solo_doi.solo12.constants import JOINT_NAMES

Status = dict[str, Any]


class Screen:
    """Draws every status in the place of the last; where there is no terminal, only tells what is new."""

    def __init__(self, draw: Callable[[Status], RenderableType]) -> None:
        """Draw with a function."""
        self._draw = draw
        self.console = Console()
        self._live = (
            Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        )
        self._told: set[str] = set()

    def __enter__(self) -> Screen:
        """Take the terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        """Give it back, with the last table on it."""
        if self._live is not None:
            self._live.stop()

    def show(self, status: Status) -> None:
        """Draw a status."""
        if self._live is not None:
            asked = Text(
                status["question"] or status["phase"],
                style="bold yellow" if status["question"] else "",
            )
            self._live.update(Group(self._draw(status), asked), refresh=True)
            return
        for words in (f"{status['phase']}{_round(status)}", status["question"]):
            if words and words not in self._told:
                self._told.add(words)
                self.console.print(words, highlight=False, markup=False)


def joints_of_calibration(status: Status) -> Table:
    """Angle, index, offset and stage of every joint."""
    table = Table(
        "joint", "angle, rad", "index", "offset, rad", "stage", title=f"Calibration{_round(status)}"
    )
    if "angle" not in status:
        return table
    for joint, name in enumerate(JOINT_NAMES):
        offset = status["offset"][joint]
        table.add_row(
            name, f"{status['angle'][joint]:+.3f}", "seen" if status["index"][joint] else "",
            "" if offset is None else f"{offset:+.4f}", status["stage"][joint],
        )  # fmt: skip
    return table


def sensors(status: Status) -> RenderableType:
    """Joints, IMU, battery and packets of a robot whose motors are off."""
    if "angle" not in status:
        return Text("")
    joints = Table("joint", "angle since power-up, rad", "velocity, rad/s", title="Motors off")
    for name, angle, velocity in zip(JOINT_NAMES, status["angle"], status["velocity"], strict=True):
        joints.add_row(name, f"{angle:+.3f}", f"{velocity:+.2f}")
    roll, pitch, _ = status["attitude"]
    rate = status["packets"] / status["seconds"] if status["seconds"] > 0 else float("nan")
    told = f"{status['voltage']:.1f} V, {status['current']:.2f} A"
    rest = Table("sensor", "value")
    rest.add_row(
        "roll, pitch", f"{roll:+.3f}, {pitch:+.3f} rad: right side down and nose down are positive"
    )
    rest.add_row(
        "accelerometer",
        ", ".join(f"{value:+.2f}" for value in status["acceleration"]) + " m/s²: up is +z",
    )
    rest.add_row("battery", "not told by protocol 3" if np.isnan(status["voltage"]) else told)
    refused = f", {status['rejected']} refused" if status["rejected"] else ""
    rest.add_row(
        "packets",
        f"{rate:.0f} per second, {status['lost']} lost{refused}, protocol {status['protocol']}",
    )
    rest.add_row("board", status["address"])
    for fault in status["faults"]:
        rest.add_row("[bold red]fault[/]", escape(fault))
    return Group(joints, rest)


def _round(status: Status) -> str:
    return f", measurement {status['round']} of 2" if "round" in status else ""
