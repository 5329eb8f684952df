"""LCM on the loopback interface: no packet of another host, no fragment, no long packet."""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import LARGEST_BATCH, STATE_CHANNEL, LcmLink, blank
from deploy.messages.loopback import HEADERS, LoopbackGroup, packet_filter
from solo_doi.common.errors import SoloError
from tests.contract.board_runs import need_namespace

from .hostile_packets import HUGE, attack

ROOT = Path(__file__).parents[3]
GROUP = "239.255.76.67"
NOBODY = 65534
KEY = bytes(range(32))
COUNT = 50


@pytest.fixture
def port() -> int:
    """Return a free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def attack_as(user: int, port: int) -> None:
    """Send hostile packets from this host as another user."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setresuid(user, user, user)
            attack((GROUP, port), COUNT, "127.0.0.1")
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_another_user_reaches_nothing_but_the_count_of_forged_messages(port: int) -> None:
    """Fragments, junk and long packets never arrive, and no memory is taken for them."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    url = f"udpm://{GROUP}:{port}?ttl=0"
    link, sender = LcmLink(Authority(KEY), url), LcmLink(Authority(KEY), url)
    heard: list[object] = []
    link.subscribe(STATE_CHANNEL, lambda message, data: heard.append(message), queue=10 * COUNT)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attack_as(NOBODY, port)
    sender.publish(STATE_CHANNEL, blank(STATE_CHANNEL))
    polls = 0
    while not heard and polls < 100:
        link.receive(0.1)
        polls += 1
    assert len(heard) == 1
    assert link.forged == COUNT
    assert link.malformed == 0
    grown = 1000 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < HUGE / 10


def test_another_host_reaches_nothing() -> None:
    """An unconfined socket of this host hears the attack; ours does not, and nothing leaves."""
    need_namespace()
    ran = subprocess.run(
        ["unshare", "-Urn", sys.executable, "-m", "tests.deploy.messages.two_hosts"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    counts = json.loads(ran.stdout)
    assert counts["arrived"] > 0
    assert counts["genuine"] > 0
    assert (counts["delivered"], counts["forged"], counts["malformed"]) == (0, 0, 0)
    assert counts["left"] == 0


def test_a_flood_is_bounded_by_queue_and_batch(port: int) -> None:
    """A poll ends after a batch; the queue holds no more than its capacity."""
    url = f"udpm://{GROUP}:{port}?ttl=0"
    link, flood = LcmLink(Authority(KEY), url), LcmLink(Authority(bytes(32)), url)
    link.subscribe(STATE_CHANNEL, lambda message, data: None)
    for _ in range(20 * LARGEST_BATCH):
        flood.publish(STATE_CHANNEL, blank(STATE_CHANNEL))
    assert link.receive(0.1) <= LARGEST_BATCH
    while link.receive(0.1):
        pass
    assert 0 < link.forged <= 20 * LARGEST_BATCH


def run_filter(packet: bytes, interface: int, *, on: int = 1, longest: int = 700) -> int:
    """Interpret a packet filter as the kernel does; return the accepted length."""
    program = packet_filter(on, longest)
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("HBBI", program, 8 * at)
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x80:
            accumulator = len(packet)
        elif code == 0x20 and value == 0xFFFFF008:
            accumulator = interface
        elif code == 0x20:
            if len(packet) < value + 4:
                return 0
            accumulator = int.from_bytes(packet[value : value + 4], "big")
        else:
            holds = accumulator > value if code == 0x25 else accumulator == value
            at += if_true if holds else if_false


@pytest.mark.parametrize(
    ("packet", "interface", "accepted"),
    [
        (bytes(8) + b"LC02" + bytes(20), 1, True),
        (bytes(8) + b"LC02" + bytes(688), 1, True),
        (bytes(8) + b"LC02" + bytes(689), 1, False),
        (bytes(8) + b"LC02" + bytes(20), 2, False),
        (bytes(8) + b"LC03" + bytes(20), 1, False),
        (bytes(11), 1, False),
        (b"", 1, False),
    ],
)
def test_the_filter_accepts_whole_messages_of_one_interface(
    packet: bytes, interface: int, accepted: bool
) -> None:
    """Length, interface and kind each decide."""
    assert bool(run_filter(packet, interface)) is accepted


def test_messages_fit_the_filter() -> None:
    """The longest message, with the longest channel name, is accepted."""
    assert run_filter(bytes(8) + b"LC02" + bytes(HEADERS - 12 + 600), 1, longest=HEADERS + 600)


def test_other_transports_are_refused() -> None:
    """A file and a relay cannot be confined; a queue inside the process needs no confinement."""
    for url in ("tcpq://localhost:7700", "file:///tmp/log"):
        with pytest.raises(SoloError, match="must begin with udpm://"):
            LcmLink(Authority(KEY), url)
    LcmLink(Authority(KEY), "memq://")


def test_an_unknown_lcm_is_refused() -> None:
    """If its sockets cannot be found, messages could leave the host."""
    group = LoopbackGroup(f"udpm://{GROUP}:7667", 600)
    with pytest.raises(SoloError, match="LCM opened 0 sockets"):
        group.make_sender(lambda: None)
    with pytest.raises(SoloError, match=r"pip install lcm==1\.5\.3"):
        group.make_receiver(lambda: None)
