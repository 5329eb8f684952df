"""Real-time settings of a process: scheduling, locked memory, no garbage collection."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

from solo_doi.common.errors import ALL_CHECKS

from .interpreter_rights import rights_command

MCL_CURRENT = 1
"""Lock and load all present pages."""
MCL_FUTURE = 2
"""Lock pages that are mapped later."""
MCL_ONFAULT = 4
"""Load such a page at its first use, not when it is mapped."""


def prepare(priority: int) -> list[str]:
    """Set real-time scheduling, lock memory, disable garbage collection; return all refusals."""
    gc.collect()
    gc.freeze()
    gc.disable()
    refused = []
    advice = f"allow it with: {rights_command()} ({ALL_CHECKS})"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (PermissionError, AttributeError) as error:
        refused.append(f"real-time scheduling refused ({error}): ticks may be late; {advice}")
    libc = ctypes.CDLL(None, use_errno=True)
    # Two calls: present pages are loaded at once. Later ones are locked when they are used, because
    # loading a large block when it is allocated would stop the process for many ticks.
    if libc.mlockall(MCL_CURRENT) != 0 or libc.mlockall(MCL_FUTURE | MCL_ONFAULT) != 0:
        reason = os.strerror(ctypes.get_errno())
        refused.append(f"memory lock refused ({reason}): page faults may make ticks late; {advice}")
    return refused


def prepare_aloud(priority: int, who: str) -> list[str]:
    """Call `prepare`, and print refusals at once, before any motor moves; `who` is the process."""
    refused = prepare(priority)
    for refusal in refused:
        sys.stderr.write(f"note: {who}: {refusal}\n")
    return refused
