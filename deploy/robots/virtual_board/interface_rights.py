"""Right of this process to make network interfaces."""

from __future__ import annotations

from pathlib import Path

CAP_NET_ADMIN = 12
"""Number of Linux's capability to make network interfaces."""
PROCESS_STATUS = Path("/proc/self/status")


def may_make_interfaces() -> bool:
    """Return True if this process has CAP_NET_ADMIN in its network namespace."""
    for line in PROCESS_STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return bool(int(value, 16) >> CAP_NET_ADMIN & 1)
    return False
