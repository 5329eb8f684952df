"""Comparison of simulators: `python -m solo_doi.sim` squats in each and shows differences."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from solo_doi.common.errors import MissingPackageError
from solo_doi.solo12.constants import CONTROL_DT, CONTROL_SETUPS, JOINT_NAMES, Array, symmetric_pose

from . import SimConfig, make_simulator

STANDING_POSE = CONTROL_SETUPS["locomotion"].default_pose
SQUATTING_POSE = symmetric_pose(0.05, 0.9, -2.0)
RECORDING_SECONDS = 5.0
"""Length of a recording [s]: two squats after a second of standing."""
SQUAT_SECONDS = 2.0
"""Time of one squat [s]."""
STANDING_SECONDS = 1.0
"""Time of standing before the first squat [s]."""
UNITS = {"height": "m", "joints": "rad", "torque": "N m", "force": "N", "speed": "m/s"}
KNEE = JOINT_NAMES.index("FL_KFE")
SquatRecording = dict[str, Array]


def squat(engine: str) -> SquatRecording:
    """Record one robot that stands, then squats twice; every quantity (steps, ...)."""
    rows: dict[str, list[Any]] = {name: [] for name in UNITS}
    with make_simulator(engine, SimConfig()) as simulator:
        for time in np.arange(0, RECORDING_SECONDS, CONTROL_DT):
            depth = 0.5 - 0.5 * np.cos(
                2 * np.pi * max(time - STANDING_SECONDS, 0.0) / SQUAT_SECONDS
            )
            state = simulator.step((STANDING_POSE + depth * (SQUATTING_POSE - STANDING_POSE))[None])
            rows["height"].append(state.base_position_w[0, 2])
            rows["joints"].append(state.joint_position[0])
            rows["torque"].append(state.torque[0])
            rows["force"].append(state.foot_force_w[0, :, 2].sum())
            rows["speed"].append(np.linalg.norm(state.linear_velocity_b[0]))
    return {name: np.array(values) for name, values in rows.items()}


def difference_table(recordings: dict[str, SquatRecording]) -> Table:
    """Return the ranges in each simulator and the largest difference after settling."""
    table = Table(title=f"Two squats, {STANDING_SECONDS:.0f} s to {RECORDING_SECONDS:.0f} s")
    table.add_column("quantity")
    for engine in recordings:
        table.add_column(engine, justify="right")
    if len(recordings) > 1:
        table.add_column("largest difference", justify="right")
    first = round(STANDING_SECONDS / CONTROL_DT)
    for name, unit in UNITS.items():
        reference, *others = (recording[name][first:] for recording in recordings.values())
        ranges = [_range(reference)]
        differences = []
        for values in others:
            ranges.append(_range(values))
            differences.append(f"{np.abs(values - reference).max():.4f}")
        table.add_row(f"{name} [{unit}]".replace("[", r"\["), *ranges, *differences)
    return table


def _range(values: np.ndarray) -> str:
    return f"{values.min():.3f} to {values.max():.3f}"


def draw(recordings: dict[str, SquatRecording], path: Path) -> None:
    """Draw base height and knee torque over time."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    height, torque = figure.subplots(2, sharex=True)
    for (engine, recording), style in zip(recordings.items(), ("-", "--"), strict=False):
        time = np.arange(len(recording["height"])) * CONTROL_DT
        height.plot(time, recording["height"], style, label=engine)
        torque.plot(time, recording["torque"][:, KNEE], style, label=engine)
    height.set_ylabel("base height [m]")
    torque.set(ylabel=f"torque of {JOINT_NAMES[KNEE]} [N m]", xlabel="time [s]")
    height.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    """Squat, compare and draw; skip simulators that are not installed, with a message."""
    parser = argparse.ArgumentParser(prog="python -m solo_doi.sim", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("squat.png"), help="picture to write (default: squat.png)"
    )
    path = parser.parse_args().out
    console = Console()
    recordings = {}
    for engine in ("mujoco", "pybullet"):
        try:
            recordings[engine] = squat(engine)
        except MissingPackageError as error:
            console.print(f"{engine} is left out. {error}", markup=False)
    if not recordings:
        return 1
    console.print(difference_table(recordings))
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(recordings, path)
    console.print(f"Base height and knee torque over time: {path}", markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
