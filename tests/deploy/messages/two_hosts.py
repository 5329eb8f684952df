"""Two hosts with a cable: one sends hostile packets, the other counts what arrives.

`python -m tests.deploy.messages.two_hosts` runs inside a network namespace of its own, where it may
make cables, and prints the counts as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys

import lcm

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import STATE_CHANNEL, STATUS_CHANNEL, LcmLink, blank

from .hostile_packets import attack

GROUP, PORT = "239.255.76.67", 7667
URL = f"udpm://{GROUP}:{PORT}?ttl=1"
KEY = bytes(32)
COUNT = 50
POLLS = 100
"""Largest number of empty polls of 0.1 s before a count is taken."""


def ip(words: str) -> None:
    """Change the network."""
    subprocess.run(["ip", *words.split()], check=True)


def stranger() -> None:
    """Be the other host: send hostile packets, and count the messages that leave the first."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for words in ("address add 10.9.9.2/24 dev lan1", "link set lan1 up", "link set lo up",
                  f"route add {GROUP} dev lan1"):  # fmt: skip
        ip(words)
    heard: list[str] = []
    ear = lcm.LCM(URL)
    ear.subscribe(STATUS_CHANNEL, lambda channel, data: heard.append(channel))
    attack((GROUP, PORT), COUNT, "10.9.9.2")
    attack(("10.9.9.1", PORT), COUNT, "10.9.9.2")
    sys.stdout.write("sent\n")
    sys.stdout.flush()
    sys.stdin.readline()
    while ear.handle_timeout(200):
        pass
    sys.stdout.write(f"{len(heard)}\n")


def main() -> None:
    """Make both hosts and print all counts."""
    other = subprocess.Popen(
        ["unshare", "-n", sys.executable, "-m", "tests.deploy.messages.two_hosts", "stranger"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    for words in ("link set lo up", "link add lan0 type veth peer name lan1",
                  f"link set lan1 netns {other.pid}", "address add 10.9.9.1/24 dev lan0",
                  "link set lan0 up", "route add 224.0.0.0/4 dev lan0"):  # fmt: skip
        ip(words)
    link, sender = LcmLink(Authority(KEY), URL), LcmLink(Authority(KEY), URL)
    genuine: list[object] = []
    link.subscribe(STATE_CHANNEL, lambda message, data: genuine.append(message))
    link.subscribe(STATUS_CHANNEL, lambda message, data: genuine.append(message))
    unconfined: list[bytes] = []  # hears the attack, which proves that it arrives at this host
    ear = lcm.LCM(URL)
    ear.subscribe(STATE_CHANNEL, lambda channel, data: unconfined.append(data))
    other.stdin.write("go\n")
    other.stdin.flush()
    assert other.stdout.readline() == "sent\n"
    polls = 0
    while not unconfined and polls < POLLS:
        ear.handle_timeout(100)
        polls += 1
    dropped = link.receive()
    for _ in range(COUNT):
        sender.publish(STATUS_CHANNEL, blank(STATUS_CHANNEL))
    polls = 0
    while not genuine and polls < POLLS:
        link.receive(0.1)
        polls += 1
    left, _ = other.communicate("end\n")
    counts = {"arrived": len(unconfined), "delivered": dropped, "forged": link.forged,
              "malformed": link.malformed, "genuine": len(genuine), "left": int(left)}  # fmt: skip
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["stranger"]:
        stranger()
    else:
        main()
