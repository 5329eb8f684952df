"""The controller process, started by solo-deploy.

Run as `python -m deploy.controller.controller_process FOLDER [SETTLE_SECONDS]`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.clock import percentiles
from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.common.realtime import prepare_aloud
from deploy.common.signals import StopRequest
from deploy.messages.authentication import run_authority
from deploy.messages.lcm_link import LcmLink
from deploy.operators.operators import SETTLE, Operator, Remote, Script, Spectator
from deploy.recorder.kept_bundle import keep_bundle
from deploy.recorder.recorder import Recorder
from solo_doi.common import settings
from solo_doi.common.errors import one_line
from solo_doi.common.files import write_text
from solo_doi.policies.bundle.shipped import load_bundle

from .controller import Controller
from .loop import Loop
from .loop_report import LoopReport
from .skill_runner import rehearse

CONTROLLER_REPORT_FILE = "controller.json"
CONTROLLER_PRIORITY = 40
"""Real-time priority, below that of the robot process, which must never wait for this one."""


def control(folder: Path, settle: float = SETTLE) -> LoopReport:
    """Run the controller with the configuration in a folder, and write its report there.

    `settle` is the time at rest before the script stands up; it depends on the kind of robot [s].
    """
    config = settings.read(DeployConfig, folder / CONFIG_FILE)
    # Verified again: the file may have changed since preflight.
    bundle = load_bundle(config.bundle, config.trust)
    controller = Controller(
        bundle, config.skill, config.controller, force=config.force, distance=config.distance
    )
    link = LcmLink(run_authority(folder, folder / KEY_FILE, config.key), config.url)
    rehearse(controller.bundle)
    # Child processes and threads inherit the priority. The recorder must not have it, so it starts
    # before the priority is raised. LCM's thread needs it, and starts with the first subscription.
    recorder = Recorder(folder, (folder / CONFIG_FILE, keep_bundle(folder, bundle.content)))
    refused = [] if config.fast else prepare_aloud(CONTROLLER_PRIORITY, "controller")
    stop = StopRequest()
    loop = Loop(controller, link, make_operator(config, link, controller, settle), recorder)
    try:
        loop.run(stop, lockstep=config.fast, readonly=config.readonly)
    finally:
        recorder.close()
        write_text(
            folder / CONTROLLER_REPORT_FILE,
            json.dumps(summarised(loop.report) | {"refused": refused}, indent=1) + "\n",
        )
    return loop.report


def make_operator(
    config: DeployConfig, link: LcmLink, controller: Controller, settle: float
) -> Operator:
    """Return the source of requests: a person over LCM, a script, or a spectator."""
    if config.readonly:
        return Spectator(config.seconds)
    if not config.interactive:
        velocity = None if config.velocity is None else np.array(config.velocity)
        skills = (config.skill, *config.then)
        return Script(
            skills, config.seconds, velocity, settle=settle, at_rest=lambda: controller.at_rest
        )
    return Remote(link)


def summarised(report: LoopReport) -> dict[str, Any]:
    """Return a report for JSON, with percentiles instead of arrays."""
    content = asdict(report)
    for name in ("work", "age", "lateness"):
        content[name] = percentiles(content[name])
    content["walk"] = {}
    if report.walk is not None:
        content["walk"] = report.walk.to_json()
    return content


if __name__ == "__main__":
    with one_line("solo-deploy"):
        control(Path(sys.argv[1]), *map(float, sys.argv[2:3]))
