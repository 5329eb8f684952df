"""Causes that are reported for a walk that ended early."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from deploy.common.robot_constants import TICK
from deploy.controller.controller_process import CONTROLLER_PRIORITY as CONTROLLER
from deploy.robots.process.robot_process import ROBOT_PRIORITY as ROBOT
from deploy.robots.virtual_board.__main__ import BOARD_PRIORITY as BOARD

from . import wall
from .wall import Beside, Look, blame, blames, descendants

CHUNK = 100
"""Ticks in a tenth of a second."""
USUAL = 0.02
"""Usual time that robot and controller wait for each other [s]."""


def looks(lateness: float, ticks: int = 1, steal: float = 0.0, waited: float = 0.0) -> list[Look]:
    """Samples: quiet until 0.1 s, then 0.1 s with every other tick late, then quiet again."""
    late = np.zeros(CHUNK)
    late[: 2 * ticks : 2] = lateness
    quiet = np.zeros(CHUNK)
    return [
        *(Look(0, 0.1 * tenth, 0.1 * tenth + 0.1, quiet, 0.0, USUAL) for tenth in range(-10, 1)),
        Look(0, 0.1, 0.2, late, steal, USUAL + waited),
        Look(0, 0.2, 0.3, quiet, 0.0, USUAL),
    ]


def test_a_stall_of_the_bare_loop_is_the_fault_of_the_machine() -> None:
    """The report contains the length of the stall and the time taken by the hypervisor."""
    found = blame(looks(0.012, steal=0.02, waited=0.011), 0.25)
    seen = (
        "C loops stalled for 12.0 ms, 1 ticks late by more than 1 ms, 20 ms stolen, 31 ms waited "
        "for a processor"
    )
    assert found.startswith(f"the machine: {seen} (usually up to 20); ")


def test_stalls_add_up() -> None:
    """Three stalls of 2 ms make a simulated robot 6 ms late, which is too much.

    Two stalls of 2 ms are tolerated.
    """
    assert blame(looks(0.002, 3), 0.25).startswith(
        "the machine: C loops stalled for 6.0 ms, 3 ticks"
    )
    assert blame(looks(0.002, 2), 0.25).startswith("ours: ")


def test_a_stall_is_counted_once() -> None:
    """A loop that is late by 4 ms is still late by 3 ms in its next tick, without another stall."""
    late = np.zeros(CHUNK)
    late[:4] = 0.004, 0.003, 0.002, 0.001
    assert Look(0, 0.0, 0.1, late, 0.0, 0.0).stalled == pytest.approx(0.004)


def test_processors_do_not_add_up() -> None:
    """Stalls of 4 ms on each of two processors count as 4 ms, not 8 ms."""
    one, other = looks(0.004), [replace(look, cpu=1) for look in looks(0.004)]
    assert blame([*one, *other], 0.25).startswith("ours: C loops stalled for 4.0 ms, 2 ticks")


def test_many_late_ticks_are_the_fault_of_the_machine() -> None:
    """Ten ticks in a row that are late by more than a millisecond count, as for an overrun.

    Nine are not enough.
    """
    for ticks, who in ((10, "the machine"), (9, "ours")):
        late = np.zeros(CHUNK)
        late[:ticks] = 0.0012
        assert blame([Look(0, 0.1, 0.2, late, 0.0, 0.0)], 0.25).startswith(f"{who}: ")


def test_waiting_without_a_late_bare_loop_is_the_fault_of_other_programs() -> None:
    """Processes of higher priority can delay robot and controller without delaying the C loop."""
    assert blame(looks(0.0004, waited=0.006), 0.25).startswith("other programs: ")


def test_a_fault_without_another_cause_is_ours() -> None:
    """The C loop was punctual and the processes waited for less than 5 ms: the fault is ours."""
    assert blame(looks(0.0004, waited=0.004), 0.25).startswith(
        "ours: C loops stalled for 0.0 ms, 0 ticks"
    )


def test_a_stall_long_before_or_after_is_no_cause() -> None:
    """A cause counts only if it lies within 0.2 s before the fault."""
    stalled = looks(0.012)
    assert blame(stalled, 0.05).startswith("ours")
    later = [replace(look, begun=look.begun + 1, ended=look.ended + 1) for look in looks(0.0)]
    assert blame([*stalled, *later], 1.25).startswith("ours")


def test_no_cause_is_reported_without_a_sample() -> None:
    """There is no cause for a fault after the last sample."""
    assert blame(looks(0.012), 9.0) == "no sample before the fault"


def test_the_share_of_the_run_with_the_same_verdict_is_reported() -> None:
    """The report gives the share of the run with the same verdict.

    A cause that is present all the time is a weak explanation.
    """
    quiet = [
        Look(0, 0.1 * look, 0.1 * look + 0.1, np.zeros(CHUNK), 0.0, USUAL) for look in range(8)
    ]
    late = np.zeros(CHUNK)
    late[0] = 0.012
    found = blame(
        [*quiet, Look(0, 0.85, 0.95, late, 0.0, USUAL), Look(0, 0.95, 1.05, late, 0.0, USUAL)], 1.1
    )
    assert found.endswith("in 20 % of the run the same could be said")
    assert blame(quiet, 0.75).endswith("in 100 % of the run the same could be said")


def test_a_robot_that_gave_up_in_bring_up_is_a_trip() -> None:
    """A robot can give up without a controller fault.

    If the controller reports a fault, that fault came first.
    """
    stalled = looks(0.012)
    given_up = {"history": [], "problems": ["bring-up failed"], "robot_gave_up_at": 0.25}
    assert [found.split(":")[0] for found in blames(stalled, given_up)] == ["the machine"]
    faults = [{"time": 0.05, "state": "IDLE"}, {"time": 9.0, "state": "FAULT"}]
    assert blames(stalled, given_up | {"history": faults}) == ["no sample before the fault"]


def test_a_bad_walk_without_a_trip_is_our_fault() -> None:
    """A robot that failed to walk is our fault; a good walk has no cause to report."""
    summary = {"history": [], "problems": [], "robot_gave_up_at": None}
    assert blames(looks(0.012), summary) == []
    (found,) = blames(looks(0.012), summary | {"problems": ["the robot did not walk"]})
    assert found.startswith("ours: ")


def test_a_child_s_child_is_followed() -> None:
    """The virtual board starts the robot process, which must be sampled as well.

    The list is empty when all processes have ended.
    """
    family = subprocess.Popen(["sh", "-c", "sh -c 'sleep 60; true'; true"], start_new_session=True)
    try:
        deadline = time.monotonic() + 10
        while len(found := descendants(family.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        parents = [
            int(Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[1])
            for pid in found
        ]
        assert parents == [family.pid, found[0]]
    finally:
        os.killpg(family.pid, 9)
        family.wait()
    assert descendants(family.pid) == []


def test_a_stall_that_began_before_a_sample_is_not_counted_in_it() -> None:
    """A stall of 4 ms in the sample before leaves the first ticks late; they add no stall."""
    late = np.zeros(CHUNK)
    late[:3] = 0.003, 0.002, 0.001
    assert Look(0, 0.0, 0.1, late, 0.0, 0.0, before=0.004).stalled == 0.0


def test_the_bare_loop_has_the_highest_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """The priority of the C loop is higher than that of controller, robot and virtual board."""
    asked = []
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda _, kind, given: asked.append((kind, given.sched_priority))
    )
    with Beside():
        pass
    assert len(asked) == len(os.sched_getaffinity(0))
    assert {kind for kind, _ in asked} == {os.SCHED_FIFO}
    assert min(priority for _, priority in asked) > max(CONTROLLER, ROBOT, BOARD)


def test_every_tick_of_every_processor_is_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples cover all ticks from first to last without gaps, each at its own time."""

    def loop(late: np.ndarray, stop: ctypes.c_int) -> int:
        while not stop.value:
            time.sleep(0.001)
        late[:] = 1_000_000 * np.arange(len(late))  # lateness counts the ticks
        return len(late)

    monkeypatch.setattr(wall, "run_c_loop", loop)
    with Beside() as beside:
        beside.followed = [os.getpid()]
        while len(beside._samples) < 5:
            time.sleep(0.01)
    cpus = {look.cpu for look in beside.looks}
    assert cpus == os.sched_getaffinity(0)
    for cpu in cpus:
        mine = [look for look in beside.looks if look.cpu == cpu]
        ticks = np.concatenate([look.lateness for look in mine]) * 1000
        np.testing.assert_allclose(np.diff(ticks), 1.0)
        assert all(later.begun == look.ended for look, later in pairwise(mine))
        for look in mine:
            assert len(look.lateness) == pytest.approx((look.ended - look.begun) / TICK, abs=1)
            assert look.before == pytest.approx(max(look.lateness[0] - TICK, 0.0))
