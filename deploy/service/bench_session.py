"""The person's side of the workbench process: starts it, shows what it says, and passes on what a person confirms."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Literal

from deploy.common.deploy_config import DeployConfig
from deploy.common.robot_python import check_robot_python
from deploy.robots.registry import KINDS, kind_of
from solo_doi.common.child_python import child_environment, module_command
from solo_doi.common.errors import SoloError

Job = Literal["watch", "check", "calibrate"]
Status = dict[str, Any]
PLACED, EXACT = "0.05", "0.01"
"""How well the simulated robot's joints are put to zero: by hand, and for a calibration with a tool [rad]."""
HANDS_AFTER = 1.5
"""When the simulated robot's joints are turned, after packets were counted [s]."""


class BenchError(SoloError):
    """What the workbench could not do, in its own words."""


def check_place(config: DeployConfig) -> None:
    """Refuse robots that have no master board, and Pythons that cannot speak to one."""
    kind = kind_of(config)
    if not kind.has_master_board:
        possible = sorted(name for name, other in KINDS.items() if other.has_master_board)
        raise SoloError(
            f"--robot {config.robot}: only {' and '.join(possible)} have a master board. "
            "Choose one of them."
        )
    kind.check_settings(config)
    check_robot_python(config.robot_python, config.driver)


def command_of(job: Job, config: DeployConfig, *, seconds: float, yes: bool) -> list[str]:
    """Return the command that does a job, for the virtual robot with its board around it."""
    kind = kind_of(config)
    assert kind.board_interface is not None, "check_place refuses robots without a master board"
    work = module_command(
        "deploy.service.bench_process",
        job,
        "--interface",
        kind.board_interface(config),
        python=config.robot_python or sys.executable,
    )
    work += ["--driver", config.driver, "--seconds", str(seconds)]
    work += ["--lock-step"] * config.fast + ["--yes"] * yes
    board_options = ["--spread", PLACED]
    if job == "calibrate":
        board_options = ["--spread", EXACT, "--put-back"]
    if job == "check" and not yes:
        board_options += ["--turn-after", str(seconds + HANDS_AFTER)]
    return kind.start(work, config, board_options)


def follow(command: list[str], show: Callable[[Status], None]) -> Any:  # noqa: ANN401  # what the job returns
    """Run a job to its end, showing every status; return its result.

    Ctrl-C reaches only this process, which closes the workbench's input: that damps and ends it. So does a terminal
    that was closed.

    Raises:
        BenchError: It failed.
        KeyboardInterrupt: It was stopped, and has ended.
    """
    process = subprocess.Popen(
        command,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stopped: KeyboardInterrupt | None = None
    lines = _Lines()
    with process:
        while True:
            try:
                _read(process, lines, show)
                break
            except KeyboardInterrupt as stop:
                if stopped is not None:
                    raise
                stopped = stop
                process.stdin.close()
    if stopped is not None:
        raise stopped
    if "error" in lines.last:
        raise BenchError(lines.last["error"])
    if "result" not in lines.last:
        raise BenchError(
            f"The workbench ended without a word, with code {process.returncode}: see above."
        )
    return lines.last["result"]


def _read(process: subprocess.Popen[bytes], lines: _Lines, show: Callable[[Status], None]) -> None:
    """Show statuses until the output ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    listens = sys.stdin.isatty() and not process.stdin.closed
    output, keys = process.stdout.fileno(), sys.stdin.fileno() if listens else None
    while True:
        ready = select.select([output] if keys is None else [output, keys], [], [])[0]
        if (
            keys in ready
            and b"\n" in _typed(keys)
            and lines.last.get("question")
            and not process.stdin.closed
        ):
            process.stdin.write(b"\n")
            process.stdin.flush()
        if output not in ready:
            continue
        data = os.read(output, 65536)
        if not data:
            return
        for line in lines.add(data):
            if "phase" in line:
                show(line)


def _typed(keys: int) -> bytes:
    """What a person typed; one whose terminal was closed is gone, as by Ctrl-C."""
    try:
        typed = os.read(keys, 256)
    except OSError:
        typed = b""
    if not typed:
        raise KeyboardInterrupt
    return typed


class _Lines:
    """Whole lines of JSON out of pieces; other words, such as the virtual board's, are left out."""

    def __init__(self) -> None:
        self.last: Status = {}
        self._rest = b""

    def add(self, data: bytes) -> list[Status]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        found = [json.loads(line) for line in whole if line.startswith(b"{")]
        self.last = found[-1] if found else self.last
        return found
