"""solo-deploy as a user starts it, with its own process group and port; messages are recorded."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import lcm

from deploy.common.known_defects import drawn_seed
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import STATE_CHANNEL, STATUS_CHANNEL, decode
from deploy.recorder.recorder import read_log
from tests.command import SOLO_DEPLOY
from tests.sizes import size

TEST_TIMEOUT = 240.0
"""Timeout of a test, far longer than a slow machine needs [s]."""
QUICK = (
    "--headless",
    "--fast",
    "--controller.stand-seconds",
    "0.6",
    "--controller.sit-seconds",
    "0.6",
)
DEFECT_SEED = size(in_ci="1", in_full=str(drawn_seed()))
"""Seed of the sensor defects: the same in every run of CI, drawn at random by `.ci/full`."""


class Deployment:
    """One run of the command; remaining processes are killed at the end."""

    def __init__(self, out: Path, *arguments: str) -> None:
        """Start it at a terminal; `press` types keys there."""
        self.out = out
        self._keys, terminal = pty.openpty()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("", 0))
            self.url = f"udpm://239.255.76.67:{probe.getsockname()[1]}?ttl=0"
        self.heard: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self._ear = lcm.LCM(self.url)
        self._ear.subscribe("SOLO_.*", self._hear)
        seed: tuple[str, ...] = ("--defect-seed", DEFECT_SEED)
        if "--ideal" in arguments or "--defect-seed" in arguments:
            seed = ()
        self._process = subprocess.Popen(
            [*SOLO_DEPLOY, *arguments, *seed, "--url", self.url, "--out", str(out)],
            stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        os.close(terminal)

    def __enter__(self) -> Deployment:
        """Return this object."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End all processes."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        os.close(self._keys)

    def listen(self, until: Callable[[dict[str, Any]], bool]) -> None:
        """Receive messages until the newest ones satisfy a condition."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while not until(self.heard):
            assert self._process.poll() is None, self._process.communicate()[0]
            assert time.monotonic() < deadline, "no message arrived"
            self._ear.handle_timeout(50)

    def listen_to_the_end(self) -> None:
        """Receive messages until there are none for a second."""
        while self._ear.handle_timeout(1000) > 0:
            pass

    def listen_until_state(self, state: int) -> None:
        """Listen until the controller is in a state."""
        self.listen(lambda heard: self.is_in(state))

    def is_in(self, state: int) -> bool:
        """Return True if the controller's last status was in a state."""
        return STATUS_CHANNEL in self.heard and self.heard[STATUS_CHANNEL].state == state

    def listen_until_damped(self) -> None:
        """Listen until the robot process has found a fault."""
        self.listen(lambda heard: self.is_damped())

    def is_damped(self) -> bool:
        """Return True if the robot process has found a fault."""
        return STATE_CHANNEL in self.heard and self.heard[STATE_CHANNEL].fault != 0

    def child(self, module: str) -> int:
        """Return the id of the descendant process that runs a module."""
        for pid in _descendants(self._process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if words[1:2] == ["-c"] and words[3:4] == [module]:  # see `module_command`
                return pid
        raise AssertionError(f"nobody runs {module}")

    def await_child(self, module: str) -> int:
        """Wait for the process that runs a module, and return its id."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while time.monotonic() < deadline:
            with suppress(AssertionError, OSError):  # not started yet, or without a name yet
                return self.child(module)
            time.sleep(0.01)
        return self.child(module)

    def press(self, key: str, state: int) -> None:
        """Press a key until the controller reaches a state, or a fault on a stalled machine."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while STATUS_CHANNEL not in self.heard or self.heard[STATUS_CHANNEL].state not in (
            state,
            ControllerState.FAULT,
        ):
            assert time.monotonic() < deadline, "the key did nothing"
            os.write(self._keys, key.encode())
            self._ear.handle_timeout(200)

    def type_until(self, keys: str, reached: Callable[[], bool]) -> None:
        """Type repeatedly, since input before the question is discarded."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while not reached():
            assert time.monotonic() < deadline, "nobody listens"
            os.write(self._keys, keys.encode())
            time.sleep(0.2)

    @property
    def alive(self) -> bool:
        """True while the command runs."""
        return self._process.poll() is None

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Press Ctrl-C, or Ctrl-Z: every process of the terminal gets it."""
        os.killpg(self._process.pid, number)

    def close_terminal(self) -> None:
        """Close the terminal, as a lost connection does; every process gets SIGHUP."""
        os.close(self._keys)
        self._keys = os.open(os.devnull, os.O_WRONLY)  # for later calls of press and close
        os.killpg(self._process.pid, signal.SIGHUP)

    @property
    def pid(self) -> int:
        """Return the process id of the command."""
        return self._process.pid

    def finish(self) -> int:
        """Wait for the end of all processes; return the exit code."""
        self.output, _ = self._process.communicate(timeout=TEST_TIMEOUT)
        deadline = time.monotonic() + TEST_TIMEOUT
        while self.orphans():
            assert time.monotonic() < deadline, f"left behind: {self.orphans()}"
            time.sleep(0.05)
        return self._process.returncode

    def orphans(self) -> list[str]:
        """Return command lines of other processes that were started for this folder."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if path.parent.name == str(os.getpid()):
                continue
            with suppress(OSError):  # the process has just ended
                found.append(path.read_text(errors="replace").replace("\0", " "))
        return [line for line in found if str(self.out) in line]

    def incidents(self) -> list[Path]:
        """Return the incident folders, after checking that each is complete."""
        folders = sorted(self.out.glob("incident-*"))
        for folder in folders:
            names = {path.name for path in folder.iterdir()}
            assert names == {"log.lcm", "cause.txt", "config.yaml", "skills.onnx", "report.png"}
            assert (folder / "cause.txt").read_text().strip()
            assert any(channel == STATE_CHANNEL for _, channel, _ in read_log(folder / "log.lcm"))
        return folders

    @property
    def summary(self) -> dict[str, Any]:
        """Return the content of summary.json."""
        return json.loads((self.out / "summary.json").read_text())

    def logged(self, channel: str) -> list[Any]:
        """Return the messages of a channel in the log."""
        return [
            decode(channel, data)
            for _, name, data in read_log(self.out / "log.lcm")
            if name == channel
        ]

    def _hear(self, channel: str, data: bytes) -> None:
        self.counts[channel] = self.counts.get(channel, 0) + 1
        self.heard[channel] = decode(channel, data)


def _descendants(pid: int) -> list[int]:
    children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return children + [further for child in children for further in _descendants(child)]
