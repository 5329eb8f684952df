"""Faults of the processes of a deployment on the virtual board.

`python -m tests.deploy.scenarios NAME FOLDER` runs inside its own network namespace, where it may
make and remove cables. The exit code is the command's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import STATE_CHANNEL, STATUS_CHANNEL
from deploy.robots.virtual_board.veth import BOARD_END

from .deployment import QUICK, Deployment

ENDLESS = ("--robot", "virtual", *QUICK, "--skill", "2", "--seconds", "1000")


def ip(*words: str) -> None:
    """Change the network."""
    subprocess.run(["ip", *words], check=True)


def killed(module: str) -> Callable[[Path], int]:
    """Kill a process while the robot walks."""

    def scenario(out: Path) -> int:
        with Deployment(out, *ENDLESS) as run:
            run.listen_until_state(ControllerState.WALK)
            os.kill(run.child(module), signal.SIGKILL)
            return run.finish()

    return scenario


def cable_out(out: Path) -> int:
    """Pull the cable out at the board while the robot walks."""
    with Deployment(out, *ENDLESS) as run:
        run.listen_until_state(ControllerState.WALK)
        ip("link", "set", BOARD_END, "down")
        return run.finish()


def ctrl_c_in_bring_up(out: Path) -> int:
    """Press Ctrl-C before calibration, once both processes send, so that there is a log."""
    with Deployment(out, *ENDLESS) as run:
        run.listen(lambda heard: STATE_CHANNEL in heard and STATUS_CHANNEL in heard)
        run.interrupt()
        return run.finish()


def ctrl_c_walking(out: Path) -> int:
    """Press Ctrl-C while the robot walks."""
    with Deployment(out, *ENDLESS) as run:
        run.listen_until_state(ControllerState.WALK)
        run.interrupt()
        return run.finish()


def loopback_gone(out: Path) -> int:
    """Switch the interface of all messages off while the robot walks."""
    with Deployment(out, "--mock", "--seconds", "1000", "--controller.stand-seconds", "0.2") as run:
        # On the wall clock, a stalled machine may have found a fault before.
        run.listen(
            lambda heard: (
                STATUS_CHANNEL in heard
                and heard[STATUS_CHANNEL].state in (ControllerState.WALK, ControllerState.FAULT)
            )
        )
        ip("link", "set", "lo", "down")
        return run.finish()


def stranger(out: Path) -> int:
    """Let another host on the same net send commands without the key during a whole walk."""
    host = subprocess.Popen(
        ["unshare", "-n", sys.executable, "-m", "tests.deploy.stranger"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert host.stdin is not None
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    ip("link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
    ip("link", "set", "lan1", "netns", str(host.pid))
    ip("address", "add", "10.9.9.1/24", "dev", "lan0")
    ip("link", "set", "lan0", "up")
    ip("route", "replace", "224.0.0.0/4", "dev", "lan0")  # as on a PC with a network
    with Deployment(out, "--robot", "virtual", *QUICK, "--skill", "2", "--seconds", "1.5") as run:
        host.stdin.write(run.url.replace("ttl=0", "ttl=1") + "\n")
        host.stdin.flush()
        code = run.finish()
    told, _ = host.communicate()
    (out / "stranger.txt").write_text(told)
    return code


SCENARIOS: dict[str, Callable[[Path], int]] = {
    "board killed": killed("deploy.robots.virtual_board"),
    "robot process killed": killed("deploy.robots.process"),
    "cable out": cable_out,
    "Ctrl-C in bring-up": ctrl_c_in_bring_up,
    "Ctrl-C walking": ctrl_c_walking,
    "loopback gone": loopback_gone,
    "stranger": stranger,
}

if __name__ == "__main__":
    sys.exit(SCENARIOS[sys.argv[1]](Path(sys.argv[2])))
