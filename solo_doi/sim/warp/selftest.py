"""Self-test of MuJoCo Warp on this machine: compares it with C MuJoCo and measures both.

It writes one file, to be attached to a report: versions, device, checks and throughput. Each
throughput is measured for at most 20 s.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from traceback import format_exc
from typing import Any

import warp as wp
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.provenance import software
from solo_doi.sim.warp_config import WarpConfig, warp_from_environment

from .device import find_device
from .selftest_checks import run_checks, throughput

CHECKED_ROBOTS = 256
THROUGHPUT_ROBOTS = (1024, 4096, 16384)
MEASURED = {"throughput": "warp", "mujoco": "mujoco"}
"""Simulators by their entry of the report. Both are measured with every number of robots."""
HEADINGS = {
    "robots": "robots",
    "control_steps_per_s": "control steps/s",
    "steps": "steps measured",
    "start_s": r"until the first step \[s]",
}
"""Headings of a measurement's numbers."""


def self_test(settings: WarpConfig, checked: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Return versions, device, checks and throughput; errors become lines."""
    device = find_device(settings.device)
    report: dict[str, Any] = {
        "software": software(),
        "host": {"machine": platform.machine(), "cores": os.cpu_count()},
        "device": {
            "name": device.name,
            "alias": device.alias,
            "architecture": device.arch,
            "cuda": wp.get_cuda_toolkit_version(),
            "driver": wp.get_cuda_driver_version(),
            "settings": asdict(settings),
        },
    }
    try:
        checks = run_checks(settings, checked)
        report["checks"] = [{**asdict(check), "ok": check.ok} for check in checks]
        report["ok"] = all(check.ok for check in checks)
    except SoloError as error:
        report |= {"ok": False, "error": str(error)}
    except Exception as error:  # whatever a driver or compiler raises is reported
        report |= {"ok": False, "error": _unexpected(error), "traceback": format_exc()}
    for key, engine in MEASURED.items():
        report[key] = [_measured(engine, robots, settings) for robots in sizes]
        report["ok"] &= not any("error" in row for row in report[key])
    return report


def _measured(engine: str, robots: int, settings: WarpConfig) -> dict[str, Any]:
    """Return the throughput of a simulator, or its error: the others are measured all the same."""
    try:
        return {"robots": robots, **throughput(engine, robots, settings)}
    except SoloError as error:
        return {"robots": robots, "error": str(error)}
    except Exception as error:
        return {"robots": robots, "error": _unexpected(error), "traceback": format_exc()}


def _unexpected(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def tables(report: dict[str, Any]) -> list[Table]:
    """Return checks and throughput as tables."""
    checks = Table("", "check", "found", "expected", title=report["device"]["name"])
    for check in report.get("checks", []):
        verdict = "ok" if check["ok"] else "NO"
        bounds = f"{check['least']:g} to {check['most']:g}"
        checks.add_row(verdict, escape(check["name"]), f"{check['found']:.4g}", bounds)
    speed = Table("simulator", *HEADINGS.values())
    for key, engine in MEASURED.items():
        for row in report.get(key, []):
            cells = {"control_steps_per_s": row.get("error"), **row}
            speed.add_row(engine, *(escape(str(cells.get(name, ""))) for name in HEADINGS))
    return [checks, speed]


def main() -> int:
    """Test, print and write the report; return 0 if all checks pass."""
    parser = argparse.ArgumentParser(
        prog="python -m solo_doi.sim.warp.selftest", description=__doc__
    )
    parser.add_argument("--device", help="GPU, or cpu (default: SOLO_WARP_DEVICE, or cuda:0)")
    parser.add_argument("--robots", type=int, nargs="+", default=THROUGHPUT_ROBOTS, metavar="N")
    parser.add_argument("--checked", type=int, default=CHECKED_ROBOTS, help="robots of the checks")
    parser.add_argument(
        "--out", type=Path, default=Path("warp_selftest.json"), help="file to write"
    )
    options = parser.parse_args()
    with one_line("warp_selftest"):
        settings = warp_from_environment()
        if options.device:
            settings = replace(settings, device=options.device)
        report = self_test(settings, options.checked, options.robots)
        options.out.write_text(json.dumps(report, indent=2) + "\n")
        console = Console()
        console.print(*tables(report))
        console.print(report.get("error", ""), f"report: {options.out}", markup=False)
        return 0 if report["ok"] else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
