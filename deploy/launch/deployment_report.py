"""What a deployment was like: a table, `summary.json` and a picture beside the log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.common.deploy_config import CONFIG_FILE, DeployConfig
from deploy.common.walk_summary import SHORTEST_WALK, WalkSummary, summarise_track
from deploy.controller.controller_process import REPORT_FILE as CONTROLLER_FILE
from deploy.logs.log_picture import draw
from deploy.recorder.recorder import LOG_FILE, next_incident, read_log, write_incident
from deploy.robots.registry import WalkSource, kind_of
from solo_doi.common.files import write_text
from solo_doi.common.provenance import software
from solo_doi.policies.bundle.reader import Bundle

ROBOT_FILE, BOARD_FILE = "robot.json", "board.json"
SUMMARY_FILE = "summary.json"
WALKED = 0.5
"""Share of the commanded velocity from which on a robot has walked."""

TIMING = {"lateness": "tick lateness, us", "work": "tick work, us", "age": "state age, us"}


@dataclass(frozen=True)
class Summary:
    """What came out."""

    path: Path
    content: dict[str, Any]

    @property
    def problems(self) -> list[str]:
        """Everything that went wrong, in words."""
        return list(self.content["problems"])

    @property
    def refused(self) -> list[str]:
        """What the system did not allow."""
        return list(self.content["refused"])

    @property
    def good(self) -> bool:
        """Whether nothing went wrong and the robot walked, by a simulator's witness or its own estimate."""
        return not self.content["problems"]

    def table(self) -> Table:
        """Return the numbers for a terminal."""
        table = Table("figure", "value", title="Deployment")
        walk = self.content["walk"]
        if walk is not None:
            by = ", estimated" if walk.get("estimated") else ""
            table.add_row(
                "distance", f"{walk['distance']:.2f} m in {walk['walked_seconds']:.1f} s{by}"
            )
            share = (
                walk["velocity"] / self.content["commanded"]
                if self.content["commanded"]
                else float("nan")
            )
            table.add_row("velocity", f"{walk['velocity']:.2f} m/s, {share:.0%} of the command{by}")
            table.add_row("falls", f"{walk['falls']}{by}")
            table.add_row("energy", f"{walk['energy']:.0f} J{by}")
        for name, title in TIMING.items():
            values = self.content["timing"].get(name) or {}
            if values:
                text = ", ".join(
                    f"{key.removesuffix('_us')} {value:.0f}" for key, value in values.items()
                )
                table.add_row(title, text)
        delay = self.content["delay_ms"]
        if delay is not None:
            table.add_row(
                "sensor to torque, ms",
                ", ".join(f"{key} {value:.1f}" for key, value in delay.items()),
            )
        table.add_row("ticks, overruns", f"{self.content['ticks']}, {self.content['overruns']}")
        return table


def summarise(folder: Path, bundle: Bundle, config: DeployConfig) -> Summary:
    """Put the reports of both processes together, and draw the log."""
    controller, robot = (_read(folder / name) for name in (CONTROLLER_FILE, ROBOT_FILE))
    command = config.velocity or bundle.contract.command
    board = _read(folder / BOARD_FILE)
    if board:
        robot["walk"] = summarise_track(board["track"], controller.get("history", [])).to_json()
    elif kind_of(config).walk_source is WalkSource.ESTIMATE and controller.get("walk"):
        robot["walk"] = controller["walk"]
    if config.operator != "script" and controller.get("walk"):
        command = (
            controller["walk"]["commanded"],
            0.0,
            0.0,
        )  # what the person asked for, on the whole
    content = {
        "skill": config.skill, "then": list(config.then), "robot": config.robot,
        "bundle": bundle.hash, "commanded": command[0], "walk": robot.get("walk"),
        "history": controller.get("history", []), "ticks": controller.get("ticks", 0),
        "overruns": controller.get("overruns", 0), "skipped": controller.get("skipped", 0),
        **{name: controller.get(name, 0) + robot.get(name, 0) for name in ("malformed", "forged", "dropped", "unsent")},
        "board_left_out": board.get("left_out", 0), "robot_gave_up_at": robot.get("gave_up_at"),
        "timing": {name: controller.get(name) for name in ("lateness", "work", "age")},
        "delay_ms": robot.get("delay_ms"), "ended": controller.get("ended"), "memory": controller.get("memory", {}),
        "refused": [*controller.get("refused", []), *robot.get("refused", [])], "software": software(),
    }  # fmt: skip
    content["problems"] = problems(controller, robot, config, command[0])
    if not (folder / LOG_FILE).is_file():
        content["problems"].append("there is no log: it could not be written")
    path = folder / SUMMARY_FILE
    write_text(path, json.dumps(content, indent=1) + "\n")
    if (
        content["problems"]
        and not list(folder.glob("incident-*"))
        and (folder / LOG_FILE).is_file()
    ):
        # Found by nobody but us: the controller died, or the robot did not walk.
        kept = [folder / CONFIG_FILE, bundle.path]
        write_incident(
            list(read_log(folder / LOG_FILE)),
            next_incident(folder),
            kept,
            "\n".join(content["problems"]),
        )
    for place in (folder, *folder.glob("incident-*")):
        draw(place)
    return Summary(path, content)


def problems(
    controller: dict[str, Any], robot: dict[str, Any], config: DeployConfig, commanded: float
) -> list[str]:
    """Everything that went wrong, in words; nothing if the robot walked as asked."""
    found = list(controller.get("faults", []))
    if not controller:
        found.append("the controller ended without a report")
    if not robot.keys() - {
        "walk"
    }:  # a board tells of the walk of a robot process that was killed, too
        found.append("the robot process ended without a report")
    if robot.get("fault") and robot["fault"] != "stopped by the operator":
        found.append(f"robot: {robot['fault']}")
    ended = controller.get("ended", "done")
    if ended == "stopped" and not config.by_person:
        found.append("stopped before the script was done")
    elif ended not in ("done", "stopped"):
        found.append(str(ended) or "the controller ended without saying why")
    walk = None
    if robot.get("walk") is not None:
        walk = WalkSummary.from_json(robot["walk"])
    # A person may stand all day; who walked long enough to be judged is judged.
    judged = config.operator == "script" or (
        walk is not None and walk.walked_seconds >= SHORTEST_WALK
    )
    if walk is not None and judged and not config.readonly:
        if walk.falls:
            found.append(f"the robot fell {walk.falls} time(s)")
        if walk.velocity * (-1 if commanded < 0 else 1) < WALKED * abs(commanded):
            found.append(f"the robot did not walk: {walk.velocity:.2f} m/s of {commanded:.2f}")
    return found


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.is_file() else {}
