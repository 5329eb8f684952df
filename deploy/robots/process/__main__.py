"""Entry point of the robot process: `python -m deploy.robots.process FOLDER`.

solo-deploy starts it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from deploy.common.clock import Ticker
from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, ROBOT_REPORT_FILE, DeployConfig
from deploy.common.realtime import prepare_aloud
from deploy.common.robot_constants import TICK
from deploy.common.robot_error import RobotError
from deploy.common.signals import StopRequest
from deploy.messages.authentication import run_authority
from deploy.messages.lcm_link import LcmLink
from deploy.robots.registry import kind_of, make_robot
from solo_doi.common import settings
from solo_doi.common.errors import one_line
from solo_doi.common.files import write_text

from .gate import Gate
from .robot_process import ROBOT_PRIORITY, RobotProcess

DAMPED_SECONDS = 1.0
"""Duration of damping after a request to end [s]."""


def main(folder: Path) -> None:
    """Run the robot with the configuration in a folder until a stop request; write a report."""
    config = settings.read(DeployConfig, folder / CONFIG_FILE)
    link = LcmLink(run_authority(folder, folder / KEY_FILE, config.key), config.url)
    refused = []
    if not config.fast:
        refused = prepare_aloud(ROBOT_PRIORITY, "robot process")
    robot = make_robot(config)
    ticker = Ticker(TICK, catch_up=True)
    if not config.fast:
        robot.start_clock(ticker.start_ns * 1e-9 + TICK)
    stop = StopRequest()
    # A script runs in the controller process and sends no operator messages. With the real robot, a
    # person confirms each step of the script from the console, which does send them.
    process = RobotProcess(
        robot, link, Gate(), lockstep=config.fast, separate_operator=config.interactive, until=stop
    )
    make_ground_truth = kind_of(config).make_ground_truth
    truth = None
    if make_ground_truth is not None:
        truth = make_ground_truth(robot)
    damped = 0
    tick = 0
    failure = ""
    failed_at: float | None = None
    try:
        while damped * TICK < DAMPED_SECONDS:
            if not (config.fast or robot.paces):
                ticker.wait()
            process.tick()
            tick += 1
            if truth is not None:
                truth.update(process.skill)
            if stop():
                process.stop()
                damped += 1
    except RobotError as error:
        failure = str(error)
        failed_at = robot.time if error.since is None else error.since
        raise
    finally:
        robot.close()
        report: dict[str, Any] = {
            "ticks": tick,
            "dropped": process.dropped,
            "malformed": link.malformed,
            "forged": link.forged,
            "unsent": link.unsent,
            "delay_ms": process.delay_ms,
            "rejected": process.rejected,
            "holds": process.gate.holds,
            "fault": failure or (process.gate.fault and str(process.gate.fault)),
            "refused": refused,
            "gave_up_at": failed_at,
        }
        if truth is not None:
            report["walk"] = truth.summary().to_json()
        write_text(folder / ROBOT_REPORT_FILE, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    with one_line("solo-deploy"):
        main(Path(sys.argv[1]))
