"""Another host: sends commands with its own key until asked to end, and counts states."""

from __future__ import annotations

import select
import subprocess
import sys
import time

import lcm

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATE_CHANNEL,
    Mode,
    Request,
    blank,
)

from .world import WRONG_KEY

PERIOD_MS = 20
"""Pause between messages [ms].

A faster sender would fill the socket of a process that a busy host delays.
"""
NETWORK = (
    "address add 10.9.9.2/24 dev lan1;link set lan1 up;link set lo up;route add 224.0.0.0/4 dev "
    "lan1"
)


def main() -> None:
    """Wait for the cable and the multicast route of LCM; then send until the input ends."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    url = sys.stdin.readline().strip()
    for words in NETWORK.split(";"):
        subprocess.run(["ip", *words.split()], check=True)
    ear, heard, authority, sent = lcm.LCM(url), [], Authority(WRONG_KEY), 0
    ear.subscribe(STATE_CHANNEL, lambda channel, data: heard.append(channel))
    command, request = blank(COMMAND_CHANNEL), blank(OPERATOR_CHANNEL)
    command.mode, command.position, command.kp, command.kd = Mode.MOVE, [0.8] * 12, 10.0, 0.1
    request.request = Request.DAMP
    while not select.select([sys.stdin], [], [], 0.0)[0]:
        sent += 1
        now = time.monotonic_ns()
        command.sequence, command.time_ns, command.expires_ns = sent, now, now + 20_000_000
        request.sequence, request.time_ns, request.expires_ns = sent, now, now + 200_000_000
        ear.publish(COMMAND_CHANNEL, authority.sign(command.encode()))
        ear.publish(OPERATOR_CHANNEL, authority.sign(request.encode()))
        ear.handle_timeout(PERIOD_MS)
    sys.stdout.write(f"{sent} {len(heard)}\n")


if __name__ == "__main__":
    main()
