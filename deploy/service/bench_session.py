"""Session with the bench process: start it, show its status, pass on confirmations."""

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

BenchTask = Literal["watch", "check", "calibrate"]
Status = dict[str, Any]
"""One line of JSON from the bench process."""
PLACED_SPREAD = "0.05"
"""Largest error of a simulated robot's joints put to zero by hand [rad]."""
EXACT_SPREAD = "0.01"
"""Largest error of joints put to zero with a tool, for a calibration [rad]."""
HANDS_AFTER = 1.5
"""Pause between counting packets and turning the joints, for a simulated robot [s]."""


class BenchError(SoloError):
    """Failure of the bench process; the message is that of the process."""


def check_robot_kind(config: DeployConfig) -> None:
    """Refuse robots without a master board, and interpreters without its driver."""
    kind = kind_of(config)
    if not kind.has_master_board:
        possible = sorted(name for name, other in KINDS.items() if other.has_master_board)
        raise SoloError(
            f"--robot {config.robot}: only {' and '.join(possible)} have a master board. "
            "Choose one of them."
        )
    kind.check_settings(config)
    check_robot_python(config.robot_python, config.driver)


def command_of(job: BenchTask, config: DeployConfig, *, seconds: float, yes: bool) -> list[str]:
    """Return the command line of the bench process; a virtual board starts it as its child."""
    kind = kind_of(config)
    assert kind.board_interface is not None, "check_robot_kind refuses robots without a board"
    command = module_command(
        "deploy.service.bench_process",
        job,
        "--interface",
        kind.board_interface(config),
        python=config.robot_python or sys.executable,
    )
    command += ["--driver", config.driver, "--seconds", str(seconds)]
    if config.fast:
        command.append("--lock-step")
    if yes:
        command.append("--yes")
    board_options = ["--spread", PLACED_SPREAD]
    if job == "calibrate":
        board_options = ["--spread", EXACT_SPREAD, "--put-back"]
    if job == "check" and not yes:
        board_options += ["--turn-after", str(seconds + HANDS_AFTER)]
    return kind.start(command, config, board_options)


def follow(command: list[str], show: Callable[[Status], None]) -> Any:  # noqa: ANN401  # JSON
    """Run a job to its end, pass every status to `show`, and return the result.

    Ctrl-C or a closed terminal reaches only this process. It closes the input of the bench process,
    which then damps the motors and ends.

    Raises:
        BenchError: The job failed.
        KeyboardInterrupt: The job was stopped, and its process has ended.
    """
    process = subprocess.Popen(
        command,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # the terminal's Ctrl-C must not reach it
    )
    assert process.stdin is not None
    interrupt: KeyboardInterrupt | None = None
    lines = _JsonLines()
    with process:
        while True:
            try:
                _read_output(process, lines, show)
                break
            except KeyboardInterrupt as error:
                if interrupt is not None:
                    raise
                interrupt = error
                process.stdin.close()
    if interrupt is not None:
        raise interrupt
    if "error" in lines.last:
        raise BenchError(lines.last["error"])
    if "result" not in lines.last:
        raise BenchError(
            f"The bench process ended without a result, with code {process.returncode}: see above."
        )
    return lines.last["result"]


def _read_output(
    process: subprocess.Popen[bytes], lines: _JsonLines, show: Callable[[Status], None]
) -> None:
    """Show statuses until the output ends; forward Enter while a question is open."""
    assert process.stdin is not None
    assert process.stdout is not None
    output = process.stdout.fileno()
    sources = [output]
    keys = None
    if sys.stdin.isatty() and not process.stdin.closed:
        keys = sys.stdin.fileno()
        sources.append(keys)
    while True:
        ready = select.select(sources, [], [])[0]
        if keys is not None and keys in ready:
            has_enter = b"\n" in _read_keys(keys)
            if has_enter and lines.last.get("question") and not process.stdin.closed:
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


def _read_keys(keys: int) -> bytes:
    """Return typed keys; a closed terminal counts as Ctrl-C."""
    try:
        typed = os.read(keys, 256)
    except OSError:
        typed = b""
    if not typed:
        raise KeyboardInterrupt
    return typed


class _JsonLines:
    """Parser of JSON lines in the output; skips other lines, such as those of the virtual board."""

    def __init__(self) -> None:
        self.last: Status = {}
        self._rest = b""

    def add(self, data: bytes) -> list[Status]:
        """Add output; return the JSON lines that are complete now."""
        *complete, self._rest = (self._rest + data).split(b"\n")
        found = [json.loads(line) for line in complete if line.startswith(b"{")]
        if found:
            self.last = found[-1]
        return found
