"""Check of the graphics card: the simulator that uses it."""

from __future__ import annotations

import subprocess

from solo_doi.common.doctor import Finding

NEWEST_ISAAC_CAPABILITY = 8.9
"""Newest compute capability of Isaac Gym (Ada). H100 has 9.0, RTX 50 has 12.0."""
OLDEST_WARP_CAPABILITY = 7.5
"""Oldest compute capability of `warp-lang` on PyPI, built with CUDA 13: Turing."""
OLDEST_WARP_DRIVER = 580
"""Oldest branch of the driver for CUDA 13."""
QUERY = ("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
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
    first = (answer.splitlines() or [""])[0].rsplit(",", 2)
    try:
        name, capability, driver = first[0], float(first[1]), first[2].strip()
        branch = int(driver.partition(".")[0])
    except (ValueError, IndexError):
        return Finding(False, f"the NVIDIA driver answers {answer!r}", "nvidia-smi")
    card = f"{name}, compute capability {capability:.1f}, driver {driver}"
    isaac = "--sim isaacgym where it is installed"
    if capability < OLDEST_WARP_CAPABILITY:
        return Finding(True, f"{card}: {isaac}; too old for PyPI's Warp")
    newest = capability > NEWEST_ISAAC_CAPABILITY
    other = "Isaac Gym does not run on this card" if newest else f"or {isaac}"
    if branch < OLDEST_WARP_DRIVER:
        found = f"{card}: PyPI's Warp needs driver {OLDEST_WARP_DRIVER} or newer; {other}"
        return Finding(False, found, f"sudo apt install nvidia-driver-{OLDEST_WARP_DRIVER}")
    return Finding(True, f"{card}: --sim warp; {other}")
