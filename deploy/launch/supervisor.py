"""Supervisor of a deployment: starts robot process and controller, waits, and reports."""

from __future__ import annotations

import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.common.known_defects import drawn_seed
from deploy.common.signals import ask_to_end, naming_parent, on_ending
from deploy.console.consent import ask_before_bring_up
from deploy.console.console import Device, run_console
from deploy.console.state_lines import StateLines
from deploy.messages.authentication import run_authority, write_key, write_run_number
from deploy.messages.lcm_link import LcmLink
from deploy.recorder.recorder import WORK_FILE
from deploy.robots.registry import kind_of
from deploy.robots.virtual_board.crane_timing import LOWER_AFTER
from solo_doi.common import settings
from solo_doi.common.child_python import module_command
from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.steps import show_next

from .deployment_report import BOARD_FILE, DeploymentSummary, summarise
from .operator_device import acquired, make_device
from .page_launch import PagePlan, planned_page, shown_page
from .preflight import check, check_robot
from .readiness import check_readiness

END_TIMEOUT = 60.0
"""Timeout for a process to end, and for a recorder to write its log [s]."""
LYING_SECONDS = 4.0
"""Time for which a robot whose controller has failed may lie down before it is damped [s]."""
POLL_PERIOD = 0.05
"""Polling period for the end of processes [s]."""

Process = subprocess.Popen[bytes]


def supervise(config: DeployConfig, out: Path) -> int:
    """Run a deployment in a new folder; return its exit code."""
    config = with_defect_seed(config)
    bundle = check(config)
    note = check_robot(config)
    device = None
    if config.interactive:
        device = make_device(config)  # before anything starts, so that a missing one is an error
    if note:
        Console().print(f"note: {note}", highlight=False, markup=False)
    if kind_of(config).is_real:
        check_readiness(config)
        ask_before_bring_up(_print_now)
    with planned_page(config, bundle, device) as page, acquired(device, config) as acquired_device:
        try:
            out.mkdir(parents=True)
        except OSError as error:
            raise SoloError(
                f"{out}: cannot be made ({error.strerror}). Choose another --out."
            ) from error
        write_text(out / CONFIG_FILE, settings.to_yaml(config))
        write_run_number(out)
        Console().print(f"run: {out}", highlight=False, markup=False)
        if config.defect_seed is not None:
            seed = config.defect_seed
            _print_now(f"sensor defects: seed {seed} (--defect-seed {seed} repeats them)\n")
        _run(config, out, acquired_device, page)
    summary = summarise(out, bundle, config)
    with suppress(OSError):  # the terminal may be gone
        _show(summary)
    return 0 if summary.good else 1


def with_defect_seed(config: DeployConfig) -> DeployConfig:
    """Return the configuration with a random seed of sensor defects, if it needs one."""
    if config.ideal or config.defect_seed is not None or not kind_of(config).has_defects:
        return config
    return replace(config, defect_seed=drawn_seed())


def _run(config: DeployConfig, out: Path, device: Device | None, page: PagePlan | None) -> None:
    """Start both processes, wait for their end, and clean up."""
    robot = None
    controller = None
    try:
        # Ctrl-C reaches every process of the terminal, and each damps; `_end` ends the others.
        with suppress(KeyboardInterrupt):
            try:
                robot = _start_robot(config, out)
                controller = _start_controller(config, out)
                with shown_page(config, out, page):
                    _accompany(config, out, device, controller, robot)
            finally:
                # A second Ctrl-C must not interrupt the orderly end.
                on_ending(signal.SIG_IGN)
    finally:
        for process in (controller, robot):
            _end(process)
        if controller is not None and controller.returncode < 0:
            _await_log(out)
        (out / KEY_FILE).unlink(missing_ok=True)  # valid for this run only


def _start_robot(config: DeployConfig, out: Path) -> Process:
    """Start the robot process; for a virtual robot, together with its board."""
    if config.key is None:
        write_key(out / KEY_FILE)
    robot = module_command(
        "deploy.robots.process", str(out), python=config.robot_python or sys.executable
    )
    # Options of the virtual board, which starts the robot process. Other robots ignore them.
    board_options = ["--lower-after", str(LOWER_AFTER), "--report", str(out / BOARD_FILE)]
    command = kind_of(config).start(robot, config, board_options)
    return subprocess.Popen(command, env=naming_parent())


def _start_controller(config: DeployConfig, out: Path) -> Process:
    settle = str(kind_of(config).settle_seconds)
    command = module_command("deploy.controller.controller_process", str(out), settle)
    return subprocess.Popen(command, env=naming_parent())


def _accompany(
    config: DeployConfig, out: Path, device: Device | None, controller: Process, robot: Process
) -> None:
    """Wait until a process ends; with a device, send the operator's requests meanwhile."""
    link = LcmLink(run_authority(out, out / KEY_FILE, config.key), config.url)
    failed_at: float | None = None

    def ended() -> bool:
        # An idle controller does not end by itself when its robot process has ended.
        nonlocal failed_at
        if robot.poll() is not None or controller.poll() == 0:
            return True
        if controller.returncode is None:
            return False
        # The robot process lies down by itself; a stop would drop the robot.
        failed_at = failed_at or time.monotonic()
        return time.monotonic() - failed_at > LYING_SECONDS

    if device is None:
        StateLines(link, _print_now)
        _watch(controller, robot, link)
        while not ended():
            time.sleep(POLL_PERIOD)
        return

    # A closed terminal means that the operator is gone; the controller then damps the robot.
    with suppress(OSError, termios.error):
        run_console(device, link, ended, sys.stdout.write)


def _watch(controller: Process, robot: Process, link: LcmLink) -> None:
    """Wait for the controller to end and show its states; end it if the robot process fails."""
    while controller.poll() is None:
        link.receive()
        time.sleep(POLL_PERIOD)
        if robot.poll() is not None and robot.returncode != 0:
            controller.send_signal(signal.SIGTERM)


def _print_now(text: str) -> None:
    """Print and flush."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _end(process: Process | None) -> None:
    """End a process if it still runs; kill it after `END_TIMEOUT`."""
    if process is None or process.poll() is not None:
        return
    ask_to_end(process)
    try:
        process.wait(END_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_log(out: Path) -> None:
    """Wait until the recorder of a killed controller has written the log, if it has a recorder."""
    deadline = time.monotonic() + END_TIMEOUT
    while (out / WORK_FILE).exists() and time.monotonic() < deadline:
        time.sleep(POLL_PERIOD)


def _show(summary: DeploymentSummary) -> None:
    """Print the table, all problems and notes, and the path of the report."""
    console = Console()
    console.print(summary.table())
    for fault in summary.problems:
        console.print(f"[bold red]fault[/]: {escape(fault)}", highlight=False)
    for refusal in summary.refused:
        console.print(f"[yellow]note[/]: {escape(refusal)}", highlight=False)
    console.print(f"report: {summary.path}", highlight=False, markup=False)
    show_next(f"solo-deploy view {summary.path.parent}")
