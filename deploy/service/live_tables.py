"""Live tables of a robot on the bench."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from solo_doi.solo12.constants import JOINT_NAMES

from .bench_session import Status


class Screen:
    """Terminal display: redraws a table with every status.

    Without a terminal, it prints each new phase and question once.
    """

    def __init__(self, draw: Callable[[Status], RenderableType]) -> None:
        """Set the function that converts a status to a table."""
        self._draw = draw
        self.console = Console()
        self._live: Live | None = None
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
        self._printed: set[str] = set()

    def __enter__(self) -> Screen:
        """Start drawing."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        """Stop drawing; the last table stays."""
        if self._live is not None:
            self._live.stop()

    def show(self, status: Status) -> None:
        """Draw a status."""
        if self._live is not None:
            line = Text(status["phase"])
            if status["question"]:
                line = Text(status["question"], style="bold yellow")
            self._live.update(Group(self._draw(status), line), refresh=True)
            return
        for words in (f"{status['phase']}{_round(status)}", status["question"]):
            if words and words not in self._printed:
                self._printed.add(words)
                self.console.print(words, highlight=False, markup=False)


def joints_of_calibration(status: Status) -> Table:
    """Return a table with angle, index pulse, offset and stage of every joint."""
    title = f"Calibration{_round(status)}"
    table = Table("joint", "angle, rad", "index", "offset, rad", "stage", title=title)
    if "angle" not in status:
        return table
    for joint, name in enumerate(JOINT_NAMES):
        offset = status["offset"][joint]
        table.add_row(
            name,
            f"{status['angle'][joint]:+.3f}",
            "seen" if status["index"][joint] else "",
            "" if offset is None else f"{offset:+.4f}",
            status["stage"][joint],
        )
    return table


def sensors(status: Status) -> RenderableType:
    """Return tables with joints, IMU, battery and packets of a robot whose motors are off."""
    if "angle" not in status:
        return Text("")
    joints = Table("joint", "angle since power-up, rad", "velocity, rad/s", title="Motors off")
    for name, angle, velocity in zip(JOINT_NAMES, status["angle"], status["velocity"], strict=True):
        joints.add_row(name, f"{angle:+.3f}", f"{velocity:+.2f}")
    return Group(joints, _other_sensors(status))


def _other_sensors(status: Status) -> Table:
    """Return a table with IMU, battery, packets, board address and faults."""
    table = Table("sensor", "value")
    roll, pitch, _ = status["attitude"]
    table.add_row(
        "roll, pitch",
        f"{roll:+.3f}, {pitch:+.3f} rad: right side down and nose down are positive",
    )
    acceleration = ", ".join(f"{value:+.2f}" for value in status["acceleration"])
    table.add_row("accelerometer", f"{acceleration} m/s²: up is +z")
    battery = f"{status['voltage']:.1f} V, {status['current']:.2f} A"
    if np.isnan(status["voltage"]):
        battery = "not reported by protocol 3"
    table.add_row("battery", battery)
    table.add_row("packets", _packets(status))
    table.add_row("board", status["address"])
    for fault in status["faults"]:
        table.add_row("[bold red]fault[/]", escape(fault))
    return table


def _packets(status: Status) -> str:
    rate = float("nan")
    if status["seconds"] > 0:
        rate = status["packets"] / status["seconds"]
    refused = f", {status['rejected']} refused" if status["rejected"] else ""
    return f"{rate:.0f} per second, {status['lost']} lost{refused}, protocol {status['protocol']}"


def _round(status: Status) -> str:
    """Return the number of the measurement, for jobs that measure twice."""
    if "round" not in status:
        return ""
    return f", measurement {status['round']} of 2"
