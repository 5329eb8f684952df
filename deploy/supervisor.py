"""Starts robot and controller, watches them, and reports what they did."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from solo_doi import config as configuration
from solo_doi.errors import SoloError
from solo_doi.files import write_text

from .config import CONFIG_FILE, KEY_FILE, DeployConfig
from .messages.auth import read_key, write_key
from .messages.wire import Link
from .operate import Device, operate
from .preflight import check, check_robot
from .recorder import LOG_FILE
from .report import BOARD_FILE, Summary, summarise

END = 60.0
"""How long processes are given to end before they are killed [s]."""


def supervise(config: DeployConfig, out: Path) -> int:
    """Run a deployment in a new folder; return its exit code."""
    bundle, note = check(config), check_robot(config)
    try:
        out.mkdir(parents=True)
    except OSError as error:
        raise SoloError(f"{out}: cannot be made ({error.strerror}). Choose another --out.") from error
    write_text(out / CONFIG_FILE, configuration.to_yaml(config))
    if config.key is None:
        write_key(out / KEY_FILE)
    Console().print(f"run: {out}", highlight=False, markup=False)
    if note:
        Console().print(f"note: {note}", highlight=False, markup=False)
    robot = _start_robot(config, out)
    controller = None
    try:
        controller = subprocess.Popen([sys.executable, "-m", "deploy.control", str(out)])
        if config.operator == "script":
            _watch(controller, robot)
        else:
            _operate(config, out, controller)
    except KeyboardInterrupt:
        pass  # every process of the terminal has got it, and damps
    finally:
        for process in (controller, robot):
            _end(process)
        if controller is not None and controller.returncode < 0:
            _await_log(out)
        (out / KEY_FILE).unlink(missing_ok=True)  # it was good for this run only
    summary = summarise(out, bundle, config)
    _show(summary)
    return 0 if summary.good else 1


def _start_robot(config: DeployConfig, out: Path) -> subprocess.Popen[bytes]:
    robot = [str(config.robot_python or sys.executable), "-m", "deploy.robots", str(out)]
    if config.robot != "virtual":
        return subprocess.Popen(robot)
    # The board makes the cable, runs the robot process beside itself, and ends with it.
    board = [sys.executable, "-m", "deploy.robots.virtual_board", "--veth", "--protocol", str(config.protocol)]
    board += ["--clock", "lock-step" if config.fast else "wall", "--lower-after", "0.5", "--seed", str(config.seed)]
    return subprocess.Popen([*board, "--report", str(out / BOARD_FILE), "--", *robot])


def _watch(controller: subprocess.Popen[bytes], robot: subprocess.Popen[bytes]) -> None:
    """Wait for the controller to end; a robot process that ends before it is a fault that the controller finds."""
    while controller.poll() is None:
        time.sleep(0.05)
        if robot.poll() is not None and robot.returncode != 0:
            controller.send_signal(signal.SIGTERM)


def _operate(config: DeployConfig, out: Path, controller: subprocess.Popen[bytes]) -> None:
    """Let a person drive from this terminal."""
    if config.operator == "keyboard":
        from .keyboard import Keyboard

        device: Device = Keyboard()
    else:
        from .gamepad import open_gamepad

        device = open_gamepad(dead_man=config.dead_man)
    link = Link(read_key(config.key or out / KEY_FILE), config.url)
    operate(device, link, lambda: controller.poll() is not None, sys.stdout.write)


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_log(out: Path) -> None:
    """Wait for the log of a controller that was killed: its recorder is still at work."""
    deadline = time.monotonic() + END
    while not (out / LOG_FILE).exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _show(summary: Summary) -> None:
    console = Console()
    console.print(summary.table())
    for fault in summary.problems:
        console.print(f"[bold red]fault[/]: {fault}", highlight=False)
    for refusal in summary.refused:
        console.print(f"[yellow]note[/]: {refusal}", highlight=False)
    console.print(f"report: {summary.path}", highlight=False, markup=False)
