"""The robot process: `python -m deploy.robots.process FOLDER`, started by solo-deploy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from deploy.common.clock import Ticker
from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.common.realtime import prepare_aloud
from deploy.common.robot import TICK, Robot, RobotError
from deploy.common.signals import StopRequest
from deploy.messages.authentication import read_key
from deploy.messages.lcm_link import Link
from solo_doi.common import settings
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text

from .gate import Gate
from .robot_process import PRIORITY, RobotProcess

REPORT_FILE = "robot.json"
DAMPED_SECONDS = 1.0
"""How long motors are still damped after a request to end."""


def main(folder: Path) -> None:
    """Serve the robot of a folder's configuration until asked to end, and leave a report there."""
    config = settings.read(DeployConfig, folder / CONFIG_FILE)
    link = Link(read_key(config.key or folder / KEY_FILE), config.url)
    refused = [] if config.fast else prepare_aloud(PRIORITY, "robot process")
    robot = make_robot(config)
    ticker = Ticker(TICK, catch_up=True)
    if not (config.fast or robot.paces):  # a simulated robot's time is that of its ticks
        robot.epoch = ticker.start_ns * 1e-9 + TICK  # type: ignore[attr-defined]
    stop = StopRequest()
    # A script is part of the controller, and sends nothing by itself; with the real robot a person goes through it.
    process = RobotProcess(
        robot, link, Gate(), lockstep=config.fast, person=config.by_person, until=stop
    )
    witness = make_witness(robot)
    damped = 0
    tick = 0
    gave_up, failed_at = "", None
    try:
        while damped * TICK < DAMPED_SECONDS:
            if not (config.fast or robot.paces):
                ticker.wait()
            process.tick()
            tick += 1
            if witness is not None:
                witness.look(process.skill)
            if stop():
                process.stop()
                damped += 1
    except RobotError as error:
        gave_up, failed_at = str(error), robot.time if error.since is None else error.since
        raise
    finally:
        robot.close()
        report: dict[str, Any] = {"ticks": tick, "dropped": process.dropped}
        report |= {"malformed": link.malformed, "forged": link.forged, "unsent": link.unsent}
        report |= {"delay_ms": process.delay_ms}
        report |= {
            "fault": gave_up or (process.gate.fault and str(process.gate.fault)),
            "refused": refused,
        }
        report |= {"gave_up_at": failed_at}
        report |= {} if witness is None else {"walk": witness.report()}
        write_text(folder / REPORT_FILE, json.dumps(report, indent=1) + "\n")


def make_robot(config: DeployConfig) -> Robot:
    """Return the robot that a configuration asks for."""
    if config.robot == "pybullet":
        from deploy.robots.simulated.bullet_solo import BulletSolo

        return BulletSolo(seed=config.seed, gui=not config.headless)
    if config.robot == "mock":
        from deploy.robots.simulated.mock_solo import MockSolo

        return MockSolo(seed=config.seed)
    return _solo12(config)


def _solo12(config: DeployConfig) -> Robot:
    from deploy.robots.odri.bring_up.calibration import load
    from deploy.robots.odri.drivers.open_board import open_board
    from deploy.robots.odri.solo12 import Solo12

    if config.robot == "virtual":
        from deploy.robots.virtual_board.veth import PC_END
        from deploy.robots.virtual_board.virtual_robot import CALIBRATION

        interface, calibration = (
            PC_END,
            CALIBRATION if config.calibration is None else load(config.calibration),
        )
    else:
        if config.interface is None or config.calibration is None:
            raise SoloError("--robot real needs --interface and --calibration.")
        interface, calibration = config.interface, load(config.calibration)
    return Solo12(
        open_board(interface, config.driver, lock_step=config.fast),
        calibration,
        lock_step=config.fast,
    )


def make_witness(robot: Robot) -> Any:  # noqa: ANN401  # a Witness, where PyBullet is installed
    """Return a witness of a simulated walk; nobody can be one of a real walk."""
    if robot.name != "pybullet":
        return None
    from deploy.robots.simulated.ground_truth import Witness

    return Witness(robot)  # type: ignore[arg-type]  # it is a BulletSolo


if __name__ == "__main__":
    with one_line("solo-deploy"):
        main(Path(sys.argv[1]))
