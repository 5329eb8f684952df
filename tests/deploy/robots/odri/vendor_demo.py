"""The vendor's demo program from its wheel, beside a virtual board on the wall clock.

The program reads its driver file from a compiled-in path. It therefore runs in its own root folder,
with all files of this machine and that file. A mount namespace needs no permissions for this.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deploy.robots.odri.wire.protocol import CommandPacket, SensorPacket
from deploy.robots.odri.wire.wire_recorder import replay
from deploy.robots.virtual_board.veth import PC_END
from solo_doi.solo12.constants import JOINT_NAMES
from tests.command import SOLO_DEPLOY
from tests.contract.board_runs import ROOT

from .vendor_file import vendor_config

DEMO = "odri_control_interface_demo_solo12"
CONFIG = "project/demos/config_solo12.yaml"
"""Path of the driver file below its root."""
BRING_UP = 6.0
"""Duration of alignment and calibration, before the program's cycles [s]."""
WORD = 2**16
ENDED_EARLY = "the demo ended by itself"


@dataclass(frozen=True)
class DemoRun:
    """Observations on the cable, on the screen and in the simulation."""

    command_times: np.ndarray
    """Times of commands on the cable [s]."""
    commands_lost: int
    """Commands lost, counted by the board."""
    sensors_lost: int
    """Sensor packets lost, by gaps in their numbers at the PC's end."""
    state: str
    """State of the board at the end."""
    angle_error: float
    """Largest difference of printed and simulated angles while the board was controlled [rad]."""
    screen: str
    command_gap: float = 0.0
    """Longest time between two commands [s]."""
    sensor_gap: float = 0.0
    """Longest time between two sensor packets [s]."""
    stolen: float = 0.0
    """Time that the hypervisor gave to other guests meanwhile, of all processors [s]."""
    ended_early: bool = False
    """True if the program ended by itself."""


def run_demo(python: Path, folder: Path, seconds: float) -> DemoRun:
    """Run the program of an environment for some time after its calibration.

    The folder must be empty.
    """
    report, wire = folder / "report.json", folder / "wire.pcap"
    root = folder / "root"
    (root / CONFIG).parent.mkdir(parents=True)
    (root / CONFIG).write_text(vendor_config())
    program = next(
        (python.parents[1] / "lib").glob(f"python3*/site-packages/cmeel.prefix/bin/{DEMO}")
    )
    client = (
        sys.executable,
        "-m",
        "tests.deploy.robots.odri.vendor_demo",
        program,
        root,
        wire,
        seconds + BRING_UP,
    )
    board = (
        sys.executable,
        "-m",
        "deploy.robots.virtual_board",
        "--veth",
        "--protocol",
        "3",
        "--report",
        report,
        "--ideal",  # the vendor's library rejects no outlier
    )
    alone = (
        "-nm" if os.geteuid() == 0 else "-Urnm"
    )  # root keeps the right to real-time scheduling, for the board
    stolen = _steal()
    ran = subprocess.run(
        ["unshare", alone, *map(str, (*board, "--spread", "0.05", "--", *client))],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=seconds + 120,
    )  # fmt: skip
    early = ENDED_EARLY in ran.stderr
    found = json.loads(report.read_text()) if report.is_file() else {}
    if (ran.returncode and not early) or found.get("obeyed_joint_position") is None:
        raise RuntimeError(f"the demo could not be run: {ran.stdout}{ran.stderr}")
    run = _read(found, wire, ran.stdout)
    return replace(run, stolen=_steal() - stolen, ended_early=early)


def _steal() -> float:
    """Steal time of all processors since boot [s]."""
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")


def _read(report: dict, wire: Path, screen: str) -> DemoRun:
    times, sensors, heard = [], [], []
    for record in replay(wire):
        if isinstance(record.packet, CommandPacket):
            times.append(record.time_ns * 1e-9)
        elif isinstance(record.packet, SensorPacket) and record.packet.session:
            sensors.append(record.packet)
            heard.append(record.time_ns * 1e-9)
    counted = [packet for packet in sensors if packet.session == sensors[-1].session]
    gaps = np.diff([packet.index for packet in counted]) % WORD - 1
    printed = re.findall(r"Joints: \[(.*?)\]", screen)
    truth = np.array([report["obeyed_joint_position"][name] for name in JOINT_NAMES])
    error = (
        np.abs(np.array(printed[-1].split(","), dtype=float) - truth).max() if printed else np.inf
    )
    lost = counted[-1].commands_lost
    longest = [
        float(np.diff(moments).max()) if len(moments) > 1 else np.inf for moments in (times, heard)
    ]
    return DemoRun(
        np.array(times), lost, int(gaps.sum()), report["state"], float(error), screen, *longest
    )


def main(program: str, root: str, wire: str, seconds: str) -> None:
    """Run the program inside the namespaces.

    Make the root, record the wire, run the program and interrupt it as a person would.
    """
    for folder in Path("/").iterdir():
        if folder.is_dir():
            Path(root, folder.name).mkdir()
            subprocess.run(["mount", "--rbind", folder, Path(root, folder.name)], check=True)
    # The board may have real-time scheduling. The program must not, because it spins and the system
    # would throttle it.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    recorder = subprocess.Popen([*SOLO_DEPLOY, "record-wire", PC_END, wire])
    while not Path(wire).exists() and recorder.poll() is None:
        time.sleep(0.01)
    demo = subprocess.Popen(["chroot", root, "stdbuf", "-oL", program])
    start = time.monotonic()
    while demo.poll() is None and time.monotonic() < start + float(seconds):
        time.sleep(0.05)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    if demo.poll() is not None:
        sys.exit(f"{ENDED_EARLY} after {time.monotonic() - start:.1f} s")
    demo.send_signal(signal.SIGINT)
    demo.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
