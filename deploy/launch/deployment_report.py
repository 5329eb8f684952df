"""Report of a deployment: `summary.json`, a table for the terminal, a picture beside the log."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.common.deploy_config import CONFIG_FILE, ROBOT_REPORT_FILE, DeployConfig
from deploy.common.robot_constants import STOPPED
from deploy.common.walk_summary import SHORTEST_WALK, WalkSummary, summarise_true_path
from deploy.controller.controller_process import CONTROLLER_REPORT_FILE
from deploy.controller.loop_report import LoopEnd
from deploy.logs.log_picture import draw
from deploy.recorder.kept_bundle import keep_bundle
from deploy.recorder.recorder import LOG_FILE, next_incident, read_log, write_incident
from deploy.robots.registry import WalkSource, kind_of
from solo_doi.common.files import write_text
from solo_doi.common.provenance import software
from solo_doi.policies.bundle.reader import Bundle

BOARD_FILE = "board.json"
SUMMARY_FILE = "summary.json"
WALKED_SHARE = 0.5
"""Smallest share of the commanded velocity that counts as walking."""
TIMING = {"lateness": "tick lateness, us", "work": "tick work, us", "age": "state age, us"}
"""Timing figures of the controller, with their titles in the table."""
COUNTERS = ("malformed", "forged", "dropped", "unsent")
"""Message counters; the summary has their sum over robot process and controller."""

ProcessReport = dict[str, Any]
"""JSON content that a process wrote about itself; empty if it wrote none."""


@dataclass(frozen=True)
class DeploymentSummary:
    """Content of `summary.json`, and its path."""

    path: Path
    content: dict[str, Any]
    walk: WalkSummary | None
    """Summary of the walk, measured or estimated; None if the robot reports none."""

    @property
    def problems(self) -> list[str]:
        """Everything that went wrong, one sentence each."""
        return list(self.content["problems"])

    @property
    def refused(self) -> list[str]:
        """Requests that the operating system refused, such as real-time priority."""
        return list(self.content["refused"])

    @property
    def good(self) -> bool:
        """True if nothing went wrong and the robot walked."""
        return not self.content["problems"]

    def table(self) -> Table:
        """Return the figures as a table for the terminal."""
        table = Table("figure", "value", title="Deployment")
        if self.walk is not None:
            _add_walk(table, self.walk, self.content["commanded"])
        for reason in _reasons(self.content["history"]):
            table.add_row("end of the walk", reason)
        for name, title in TIMING.items():
            figures = self.content["timing"].get(name)
            if figures:
                _add_figures(table, title, figures, decimals=0)
        if self.content["delay_ms"] is not None:
            _add_figures(table, "sensor to torque, ms", self.content["delay_ms"], decimals=1)
        if self.content.get("rejected"):
            counts = (f"{name} {count}" for name, count in self.content["rejected"].items())
            table.add_row("rejected measurements", ", ".join(counts))
        if self.content.get("holds"):
            table.add_row("held commands", str(self.content["holds"]))
        table.add_row("ticks, overruns", f"{self.content['ticks']}, {self.content['overruns']}")
        return table


def summarise(folder: Path, bundle: Bundle, config: DeployConfig) -> DeploymentSummary:
    """Merge the reports of all processes into `summary.json`, and draw the log."""
    controller = _read(folder / CONTROLLER_REPORT_FILE)
    robot = _read(folder / ROBOT_REPORT_FILE)
    board = _read(folder / BOARD_FILE)
    walk = _walk(controller, robot, board, config)
    commanded = (config.velocity or bundle.contract.command)[0]
    if config.operator != "script" and controller.get("walk"):
        # An operator changes the command while walking, so the mean command is used.
        commanded = controller["walk"]["commanded"]
    problems = find_problems(controller, robot, walk, config, commanded)
    log = folder / LOG_FILE
    if not log.is_file():
        problems.append("there is no log: it could not be written")
    content = {
        "skill": config.skill,
        "then": list(config.then),
        "robot": config.robot,
        "bundle": bundle.hash,
        "commanded": commanded,
        "walk": None if walk is None else walk.to_json(),
        **_merged(controller, robot, board),
        "software": software(),
        "problems": problems,
    }
    path = folder / SUMMARY_FILE
    write_text(path, json.dumps(content, indent=1) + "\n")
    if problems and log.is_file() and not list(folder.glob("incident-*")):
        # The controller recorded no fault: it ended early, or the robot did not walk.
        kept = [folder / CONFIG_FILE, keep_bundle(folder, bundle.content)]
        write_incident(list(read_log(log)), next_incident(folder), kept, "\n".join(problems))
    for place in (folder, *folder.glob("incident-*")):
        draw(place)
    return DeploymentSummary(path, content, walk)


def find_problems(
    controller: ProcessReport,
    robot: ProcessReport,
    walk: WalkSummary | None,
    config: DeployConfig,
    commanded: float,
) -> list[str]:
    """Return everything that went wrong, one sentence each; `commanded` is a velocity [m/s]."""
    found = list(controller.get("faults", []))
    if not controller:
        found.append("the controller ended without a report")
    if not robot:
        found.append("the robot process ended without a report")
    if robot.get("fault") and robot["fault"] != STOPPED:
        found.append(f"robot: {robot['fault']}")
    ended = controller.get("ended", LoopEnd.DONE.value)
    if ended == LoopEnd.STOPPED.value and not config.interactive:
        found.append("stopped before the script was done")
    elif ended not in [end.value for end in LoopEnd]:
        found.append(str(ended) or "the controller's report has no reason")
    if walk is not None and _is_judged(walk, config):
        if walk.falls:
            found.append(f"the robot fell {walk.falls} time(s)")
        # A bound may end a walk too early for a meaningful velocity.
        if walk.walked_seconds >= SHORTEST_WALK or not _reasons(controller.get("history", [])):
            found += _velocity_problems(walk, commanded)
    return found


def _is_judged(walk: WalkSummary, config: DeployConfig) -> bool:
    """Return True if the walk counts for the exit code; an operator need not walk."""
    if config.readonly:
        return False
    return config.operator == "script" or walk.walked_seconds >= SHORTEST_WALK


def _reasons(history: list[dict[str, Any]]) -> list[str]:
    """Return the reason of every walk that ended at its bound."""
    return [entry["reason"] for entry in history if "reason" in entry]


def _velocity_problems(walk: WalkSummary, commanded: float) -> list[str]:
    forward = walk.velocity
    if commanded < 0:
        forward = -walk.velocity
    if forward < WALKED_SHARE * abs(commanded):
        return [f"the robot did not walk: {walk.velocity:.2f} m/s of {commanded:.2f}"]
    return []


def _walk(
    controller: ProcessReport, robot: ProcessReport, board: ProcessReport, config: DeployConfig
) -> WalkSummary | None:
    """Return the most accurate figures of the walk: true ones of a simulation, else estimates."""
    if board:
        return summarise_true_path(board["track"], controller.get("history", []))
    content = robot.get("walk")
    if kind_of(config).walk_source is WalkSource.ESTIMATE and controller.get("walk"):
        content = controller["walk"]
    if content is None:
        return None
    return WalkSummary.from_json(content)


def _merged(
    controller: ProcessReport, robot: ProcessReport, board: ProcessReport
) -> dict[str, Any]:
    """Return the part of the summary that is taken from the reports of the processes."""
    return {
        "history": controller.get("history", []),
        "ticks": controller.get("ticks", 0),
        "overruns": controller.get("overruns", 0),
        "skipped": controller.get("skipped", 0),
        **{name: controller.get(name, 0) + robot.get(name, 0) for name in COUNTERS},
        "board_left_out": board.get("left_out", 0),
        "robot_gave_up_at": robot.get("gave_up_at"),
        "timing": {name: controller.get(name) for name in TIMING},
        "delay_ms": robot.get("delay_ms"),
        "rejected": robot.get("rejected", {}),
        "holds": robot.get("holds", 0),
        "ended": controller.get("ended"),
        "memory": controller.get("memory", {}),
        "refused": [*controller.get("refused", []), *robot.get("refused", [])],
    }


def _add_walk(table: Table, walk: WalkSummary, commanded: float) -> None:
    """Add the rows of a walk; estimated figures are marked as such."""
    origin = ", estimated" if walk.estimated else ""
    velocity = f"{walk.velocity:.2f} m/s"
    if commanded and math.isfinite(walk.velocity / commanded):
        velocity += f", {walk.velocity / commanded:.0%} of the command"
    table.add_row("distance", f"{walk.distance:.2f} m in {walk.walked_seconds:.1f} s{origin}")
    table.add_row("velocity", velocity + origin)
    table.add_row("falls", f"{walk.falls}{origin}")
    table.add_row("energy", f"{walk.energy:.0f} J{origin}")


def _add_figures(table: Table, title: str, figures: dict[str, float], *, decimals: int) -> None:
    parts = []
    for name, value in figures.items():
        parts.append(f"{name.removesuffix('_us')} {value:.{decimals}f}")
    table.add_row(title, ", ".join(parts))


def _read(path: Path) -> ProcessReport:
    """Return the content of a report; empty if the process wrote none."""
    if not path.is_file():
        return {}
    content: ProcessReport = json.loads(path.read_text())
    return content
