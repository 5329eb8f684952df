"""Who is blamed for a walk that ended early."""

from __future__ import annotations

import numpy as np

from .wall import CHUNK, Look, blame


def looks(lateness: float, ticks: int = 1, steal: float = 0.0, waited: float = 0.0) -> list[Look]:
    """Three tenths of a second, in the second of which some ticks of the C loop were late."""
    late = np.zeros(CHUNK)
    late[:ticks] = lateness
    quiet = np.zeros(CHUNK)
    return [Look(0.0, 0.1, quiet, 0.0, 0.0), Look(0.1, 0.2, late, steal, waited), Look(0.2, 0.3, quiet, 0.0, 0.0)]


def test_a_stall_that_the_bare_loop_felt_is_the_machine_s() -> None:
    """With its size, and what the hypervisor took."""
    found = blame(looks(0.012, steal=0.02, waited=0.011), 0.25)
    seen = "C loops late by up to 12.0 ms, 1 ticks by more than 1 ms, 20 ms stolen, 11 ms waited for a processor"
    assert found == f"the machine: {seen}"


def test_many_late_ticks_are_the_machine_s() -> None:
    """Ten by two milliseconds each; nine are not enough."""
    assert blame(looks(0.002, 10), 0.25).startswith("the machine: ")
    assert blame(looks(0.002, 9), 0.25).startswith("ours: ")


def test_a_process_that_waits_while_the_bare_loop_does_not_is_kept_by_other_programs() -> None:
    """More urgent ones than robot and controller."""
    assert blame(looks(0.0004, waited=0.006), 0.25).startswith("other programs: ")


def test_what_nobody_else_explains_is_ours() -> None:
    """A punctual loop, and processors for all who wanted one."""
    assert blame(looks(0.0004, waited=0.004), 0.25).startswith("ours: C loops late by up to 0.4 ms, 0 ticks")


def test_a_stall_long_before_or_after_explains_nothing() -> None:
    """A fault follows its cause within a fifth of a second."""
    stalled = looks(0.012)
    assert blame(stalled, 0.05).startswith("ours")
    later = [Look(look.begun + 1, look.ended + 1, look.lateness, 0.0, 0.0) for look in looks(0.0)]
    assert blame([*stalled, *later], 1.25).startswith("ours")


def test_nothing_is_blamed_without_a_look() -> None:
    """As before the first, or after the last."""
    assert blame(looks(0.012), 9.0) == "nobody looked at the machine then"
