"""Health of a robot's computer: LCM, real time, raw Ethernet, network cards, vendor's wheels."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from deploy.common.deploy_config import DEFAULT_URL
from deploy.common.interpreter_rights import check_owner_only, rights_command
from deploy.common.safety_config import SafetyConfig
from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import STATUS_CHANNEL, LcmLink, blank
from solo_doi.common.child_python import child_environment, module_command
from solo_doi.common.doctor import Finding, HealthCheck, fix_command, package_check
from solo_doi.common.errors import MissingPackageError, SoloError

from .jitter import EDGES_US, bars

JITTER_SECONDS = 10.0
"""Duration of the measurement of lateness [s]."""
ECHO_SECONDS = 1.0
"""Timeout of a message to this host itself, which takes less than 1 ms [s]."""
STALL = SafetyConfig().state_age
"""Lateness at which the controller damps the motors [s]."""
ADD_ROUTE = "sudo ip link set lo up && sudo ip route add 224.0.0.0/4 dev lo"
QUIET = "sudo systemctl isolate multi-user.target"
"""Command that ends the graphical session, a frequent cause of late ticks."""
ALL_PROTOCOLS = 3
"""Number of Ethernet's `ETH_P_ALL`."""


def check_lcm(url: str = DEFAULT_URL) -> Finding:
    """Check that a message on the loopback interface comes back."""
    try:
        link = LcmLink(Authority(b"solo-doctor"), url)
    except MissingPackageError:
        install = "sudo apt install libglib2.0-0 && "
        return Finding(False, "cannot be imported", install + fix_command("'lcm>=1.5.1'"))
    except SoloError as error:
        return Finding(False, str(error), ADD_ROUTE)
    received: list[object] = []
    link.subscribe(STATUS_CHANNEL, lambda message, data: received.append(message))
    link.publish(STATUS_CHANNEL, blank(STATUS_CHANNEL))
    link.receive(ECHO_SECONDS)
    if received:
        return Finding(True, "a message came back")
    return Finding(False, "no message came back", ADD_ROUTE)


def check_real_time(seconds: float = JITTER_SECONDS) -> Finding:
    """Check real-time rights, and measure the lateness of a loop with them or without."""
    command = module_command("deploy.doctor.jitter", str(seconds))
    ended = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, check=False
    )
    if ended.returncode:
        reason = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Finding(False, f"not measured: {reason}", "solo-doctor --json")
    return judge_real_time(json.loads(ended.stdout), seconds)


def judge_real_time(measured: dict[str, Any], seconds: float) -> Finding:
    """Judge a measurement of `deploy.doctor.jitter`."""
    late = measured["lateness"]
    shown = bars(measured["histogram"])
    found = (
        f"lateness in {seconds:g} s: p50 {late['p50_us']:.0f}, p99 {late['p99_us']:.0f}, "
        f"max {late['max_us']:.0f} us; {shown} ({EDGES_US[0]} us to over {EDGES_US[-1]} us)"
    )
    if measured["refused"]:
        return Finding(False, f"not allowed; {found}", rights_command())
    if late["max_us"] > 1e6 * STALL:
        return Finding(False, f"allowed, but a stall would damp the motors; {found}", QUIET)
    return Finding(True, f"allowed; {found}")


def check_raw_ethernet() -> Finding:
    """Check the right to send and receive raw Ethernet packets, and that no one else has it."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)).close()
    except PermissionError:
        return Finding(False, "not allowed", rights_command())
    try:
        check_owner_only(Path(sys.executable))
    except SoloError as error:
        return Finding(False, str(error), f"chmod 700 {os.path.realpath(sys.executable)}")
    return Finding(True, "allowed")


def check_cards() -> Finding:
    """List the network cards; a master board needs a wired one, whose name begins with `e`."""
    # /sys/class/net would show the cards of another network namespace.
    names = sorted(name for _, name in socket.if_nameindex())
    found = ", ".join(names) or "none"
    if any(name.startswith("e") for name in names):
        return Finding(True, found)
    return Finding(False, f"{found}; none is wired", "ip -brief link")


CHECKS = (
    HealthCheck(
        "LCM on loopback",
        "messages between the processes",
        check_lcm,
        frozenset({"deploy", "robot"}),
    ),
    HealthCheck("real time", "ticks of 1 ms on time", check_real_time, frozenset({"robot"})),
    HealthCheck(
        "raw Ethernet", "packets of the master board", check_raw_ethernet, frozenset({"robot"})
    ),
    HealthCheck("network cards", "cable to the master board", check_cards, frozenset({"robot"})),
    package_check(
        "websockets", "websockets", "the page of solo-deploy --view", install="'websockets>=14'"
    ),
    package_check(
        "master-board",
        "libmaster_board_sdk_pywrap",
        "the vendor's driver (--driver sdk)",
        install="sudo apt install python3-venv && solo-deploy install-robot",
    ),
    package_check("evdev-binary", "evdev", "--operator gamepad", install="'evdev-binary>=1.9'"),
)
"""All checks of deployment, in the order of a screen."""
