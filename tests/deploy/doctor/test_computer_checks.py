"""Checks of a robot's computer."""

from __future__ import annotations

import socket
import sys
from typing import Any

import pytest

from deploy.common.interpreter_rights import rights_command
from deploy.doctor import computer_checks
from deploy.doctor.computer_checks import (
    ADD_ROUTE,
    CHECKS,
    check_cards,
    check_lcm,
    check_raw_ethernet,
    check_real_time,
    judge_real_time,
)

LATENESS = {"p50_us": 10.0, "p99_us": 20.0, "p99.9_us": 30.0, "max_us": 40.0}
HISTOGRAM = [9, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_message_comes_back() -> None:
    assert check_lcm("udpm://239.255.76.67:7699?ttl=0").found == "a message came back"


def test_lost_messages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer_checks, "ECHO_SECONDS", 0.0)
    monkeypatch.setattr(computer_checks.LcmLink, "publish", lambda *_: b"")
    finding = check_lcm("udpm://239.255.76.67:7699?ttl=0")
    assert (finding.good, finding.fix) == (False, ADD_ROUTE)


def test_a_wrong_address_of_lcm_is_found() -> None:
    finding = check_lcm("nonsense://")
    assert (finding.good, finding.fix) == (False, ADD_ROUTE)


def test_missing_lcm_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lcm", None)
    finding = check_lcm()
    assert not finding.good
    assert "libglib2.0-0" in finding.fix
    assert "pip install 'lcm>=1.5.1'" in finding.fix


@pytest.mark.parametrize(
    ("measured", "good", "fix", "words"),
    [
        ({"refused": []}, True, "", "allowed; lateness in 3 s: p50 10, p99 20, max 40 us; █▁"),
        ({"refused": ["no"]}, False, rights_command(), "not allowed; lateness"),
        (
            {"refused": [], "lateness": LATENESS | {"max_us": 10001.0}},
            False,
            computer_checks.QUIET,
            "a stall would damp the motors",
        ),
    ],
)
def test_rights_and_lateness_are_judged(
    measured: dict[str, Any], good: bool, fix: str, words: str
) -> None:
    finding = judge_real_time({"lateness": LATENESS, "histogram": HISTOGRAM} | measured, 3.0)
    assert (finding.good, finding.fix) == (good, fix)
    assert words in finding.found


def test_the_loop_runs_in_a_process_of_its_own() -> None:
    """The host may be busy, so that the lateness is not judged here."""
    finding = check_real_time(0.02)
    assert "lateness in 0.02 s: p50 " in finding.found


def test_a_failed_measurement_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "raise SystemExit('broken')"]
    monkeypatch.setattr(computer_checks, "module_command", lambda *_: command)
    assert check_real_time(0.02).found == "not measured: broken"


def test_missing_rights_to_raw_ethernet_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    assert check_raw_ethernet().fix == rights_command()


@pytest.mark.parametrize(("names", "good"), [(["lo", "enp5s0"], True), (["lo", "wlan0"], False)])
def test_a_wired_card_is_looked_for(
    names: list[str], good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(names)))
    finding = check_cards()
    assert finding.good is good
    assert ", ".join(sorted(names)) in finding.found


def test_a_robot_needs_more_than_a_dry_run() -> None:
    needed = {check.name: check.needed_for for check in CHECKS}
    assert needed["LCM on loopback"] == {"deploy", "robot"}
    assert needed["real time"] == needed["raw Ethernet"] == {"robot"}
