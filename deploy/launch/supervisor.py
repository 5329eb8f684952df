"""Starts robot and controller, watches them, and reports what they did."""

from __future__ import annotations

import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, DeployConfig
from deploy.common.signals import ask_to_end, naming_parent, on_ending
from deploy.common.state_machine import ControllerState
from deploy.console.consent import ask_before_bring_up
from deploy.console.console import Device, operate
from deploy.messages.authentication import read_key, write_key
from deploy.messages.lcm_link import LcmLink
from deploy.messages.operator_request import OperatorRequest
from deploy.recorder.recorder import WORK_FILE
from deploy.robots.registry import kind_of
from deploy.robots.virtual_board.crane_timing import LOWER_AFTER
from solo_doi.common import settings
from solo_doi.common.child_python import module_command
from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.solo12.constants import Array

from .deployment_report import BOARD_FILE, Summary, summarise
from .preflight import check, check_robot

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

END = 60.0
"""How long processes are given to end before they are killed [s]."""


def supervise(config: DeployConfig, out: Path) -> int:
    """Run a deployment in a new folder; return its exit code."""
    bundle, note = check(config), check_robot(config)
    device = (
        _device(config) if config.by_person else None
    )  # what is missing is told before anything starts
    if note:
        Console().print(f"note: {note}", highlight=False, markup=False)
    if kind_of(config).is_real:
        ask_before_bring_up(_aloud)
    with _taken(device, config) as taken:
        try:
            out.mkdir(parents=True)
        except OSError as error:
            raise SoloError(
                f"{out}: cannot be made ({error.strerror}). Choose another --out."
            ) from error
        write_text(out / CONFIG_FILE, settings.to_yaml(config))
        Console().print(f"run: {out}", highlight=False, markup=False)
        _run(config, out, taken)
    summary = summarise(out, bundle, config)
    with suppress(OSError):  # the terminal may be gone
        _show(summary)
    return 0 if summary.good else 1


def _run(config: DeployConfig, out: Path, device: Device | None) -> None:
    """Start both processes, wait for their end, and tidy up."""
    robot = controller = None
    try:
        # A request to end may come in the very moment in which everything ends by itself: then it is not heard.
        with suppress(
            KeyboardInterrupt
        ):  # every process of the terminal has got it, and damps; others are told below
            try:
                robot = _start_robot(config, out)
                controller = _start_controller(config, out)
                _accompany(config, out, device, controller, robot)
            finally:
                on_ending(signal.SIG_IGN)
    finally:
        for process in (controller, robot):
            _end(process)
        if controller is not None and controller.returncode < 0:
            _await_log(out)
        (out / KEY_FILE).unlink(missing_ok=True)  # it was good for this run only


def _start_robot(config: DeployConfig, out: Path) -> subprocess.Popen[bytes]:
    if config.key is None:
        write_key(out / KEY_FILE)
    robot = module_command(
        "deploy.robots.process", str(out), python=config.robot_python or sys.executable
    )
    # A virtual board runs the robot process beside itself; other robots ignore these options.
    board_options = ["--lower-after", str(LOWER_AFTER), "--report", str(out / BOARD_FILE)]
    command = kind_of(config).start(robot, config, board_options)
    return subprocess.Popen(command, env=naming_parent())


def _start_controller(config: DeployConfig, out: Path) -> subprocess.Popen[bytes]:
    settle = str(kind_of(config).settle_seconds)
    command = module_command("deploy.controller.controller_process", str(out), settle)
    return subprocess.Popen(command, env=naming_parent())


def _accompany(
    config: DeployConfig, out: Path, device: Device | None,
    controller: subprocess.Popen[bytes], robot: subprocess.Popen[bytes],
) -> None:  # fmt: skip
    """Wait for the end; where a person drives, pass on what they wish."""
    if device is None:
        _watch(controller, robot)
        return
    link = LcmLink(read_key(config.key or out / KEY_FILE), config.url)
    with suppress(
        OSError, termios.error
    ):  # a closed terminal: the person is gone, and the robot is damped
        # Without a robot process there is nothing to drive, however it ended; an idle controller would not tell.
        operate(
            device,
            link,
            lambda: any(one.poll() is not None for one in (controller, robot)),
            sys.stdout.write,
        )


def _watch(controller: subprocess.Popen[bytes], robot: subprocess.Popen[bytes]) -> None:
    """Wait for the controller to end; a robot process that ends before it is a fault that the controller finds."""
    while controller.poll() is None:
        time.sleep(0.05)
        if robot.poll() is not None and robot.returncode != 0:
            controller.send_signal(signal.SIGTERM)


def _aloud(text: str) -> None:
    """Write what somebody is waited for to read."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _device(config: DeployConfig) -> Device:
    """What a person drives with."""
    if config.operator == "gamepad":
        from deploy.console.gamepad import open_gamepad

        return open_gamepad(dead_man=config.dead_man)
    from deploy.console.keyboard import Guided, Keyboard

    if config.operator == "keyboard":
        return Keyboard()
    velocity = None if config.velocity is None else np.array(config.velocity)
    return Guided((config.skill, *config.then), config.seconds, velocity, sys.stdout.write)


class _Taken:
    """A device that somebody else has taken, and gives back."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.help = device.help
        self.can_rearm = device.can_rearm
        self.rearm_key = device.rearm_key

    @property
    def velocity(self) -> Array | None:
        return self._device.velocity

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        return self._device.read(seconds, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to do."""


@contextmanager
def _taken(device: Device | None, config: DeployConfig) -> Iterator[Device | None]:
    """Take a device before anything starts: one that cannot be had is no person who has gone."""
    if device is None:
        yield None
        return
    try:
        device.__enter__()
    except (OSError, termios.error) as error:
        raise SoloError(
            f"The {'gamepad' if config.operator == 'gamepad' else 'keyboard'} cannot be taken ({error.args[-1]}). "
            "End the program that uses it, then try again."
        ) from error
    try:
        yield _Taken(device)
    finally:
        with suppress(OSError, termios.error):  # the terminal may be gone
            device.__exit__(None, None, None)


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None or process.poll() is not None:
        return
    ask_to_end(process)
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_log(out: Path) -> None:
    """Wait for the log of a controller that was killed: its recorder, if there was one yet, is still at work."""
    deadline = time.monotonic() + END
    while (out / WORK_FILE).exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def _show(summary: Summary) -> None:
    console = Console()
    console.print(summary.table())
    for fault in summary.problems:
        console.print(f"[bold red]fault[/]: {escape(fault)}", highlight=False)
    for refusal in summary.refused:
        console.print(f"[yellow]note[/]: {escape(refusal)}", highlight=False)
    console.print(f"report: {summary.path}", highlight=False, markup=False)
