"""Check of the graphics card: the simulator that uses it."""

from __future__ import annotations

import subprocess

from solo_doi.common.doctor import Finding

NEWEST_ISAAC_CAPABILITY = 8.9
"""Newest compute capability of Isaac Gym (Ada). H100 has 9.0, RTX 50 has 12.0."""
QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader")
QUERY_TIMEOUT = 20.0
"""Longest time that the driver may take to answer [s]; a sleeping card needs some seconds."""


def check_gpu() -> Finding:
    """Name the first graphics card of the driver and recommend a simulator for it."""
    try:
        answer = subprocess.run(
            QUERY, capture_output=True, text=True, timeout=QUERY_TIMEOUT, check=True
        ).stdout.strip()
    except FileNotFoundError:
        return Finding(False, "no NVIDIA driver found", "solo-collect --sim mujoco")
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(False, f"the NVIDIA driver does not answer ({error})", "nvidia-smi")
    name, _, number = (answer.splitlines() or [""])[0].rpartition(",")
    try:
        capability = float(number)
    except ValueError:
        return Finding(False, f"the NVIDIA driver answers {answer!r}", "nvidia-smi")
    found = f"{name}, compute capability {capability:.1f}: --sim warp"
    if capability <= NEWEST_ISAAC_CAPABILITY:
        found += ", or --sim isaacgym where it is installed"
    else:
        found += "; Isaac Gym does not run on this card"
    return Finding(True, found)
