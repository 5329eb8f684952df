"""Self-test of Isaac Gym on this machine: `python -m collect.isaac_selftest` writes a report."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from solo_doi.common.errors import one_line
from solo_doi.sim import Domain, SimConfig, SimulationError, Terrain, make_simulator
from solo_doi.sim.isaac.isaac_simulator import IsaacSimulator
from solo_doi.sim.isaac_config import IsaacConfig, find_isaac
from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, TOTAL_MASS, Array
from solo_doi.solo12.rotations import from_rpy, rotate
from solo_doi.solo12.state import Motion, RobotState, standing

from .isaac_setup import ISAAC_WORKER

SETUP = CONTROL_SETUPS["locomotion"]
WEIGHT = TOTAL_MASS * GRAVITY
# A process may have only one simulation, so all checks share it. These robots have own settings.
UNCHANGED, HEAVY, ON_BOX, HOLDING, SLIDING, PROMPT = range(6)
NUM_ROBOTS = 8
ADDED_MASS = 0.5
"""Mass added to robot HEAVY [kg]."""
TEST_BOX_HEIGHT = 0.1
"""Height of the box under robot ON_BOX [m]."""
FRICTION = 0.15
"""Friction of robots HOLDING and SLIDING."""


@dataclass(frozen=True)
class Check:
    """One property of Isaac Gym that the project relies on."""

    name: str
    found: float
    expected: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if the value is within its tolerance."""
        return abs(self.found - self.expected) <= self.tolerance


def run_checks(isaac: IsaacConfig) -> dict[str, Any]:
    """Run all checks; return versions, device and results."""
    checks: list[Check] = []
    with make_simulator(
        "isaacgym", SimConfig(num_robots=NUM_ROBOTS, isaac=isaac), _terrain()
    ) as simulator:
        assert isinstance(simulator, IsaacSimulator)
        simulator.set_domain(_domain())
        started = time.perf_counter()
        checks += _in_the_air(simulator)
        checks += _motors(simulator)
        checks += _on_the_ground(simulator)
        checks += _friction(simulator)
        seconds = time.perf_counter() - started
        return {
            "about": simulator.worker.about,
            "seconds": round(seconds, 2),
            "ok": all(check.ok for check in checks),
            "checks": [{**asdict(check), "ok": check.ok} for check in checks],
        }


def _terrain() -> Terrain:
    centre = np.full((NUM_ROBOTS, 1, 2), 5.0)
    size = np.full((NUM_ROBOTS, 1, 3), TEST_BOX_HEIGHT)
    size[..., :2] = 1.0
    centre[ON_BOX] = 0.0
    return Terrain(centre, size)


def _domain() -> Domain:
    added_mass = np.zeros(NUM_ROBOTS)
    added_mass[HEAVY] = ADDED_MASS
    friction = np.ones(NUM_ROBOTS)
    friction[[HOLDING, SLIDING]] = FRICTION
    lag = np.full(NUM_ROBOTS, 0.015)
    lag[PROMPT] = 0.0
    return Domain.nominal(NUM_ROBOTS, added_mass=added_mass, friction=friction, motor_lag=lag)


def _start(height: float = 0.0) -> Motion:
    motion = standing(SETUP, NUM_ROBOTS)
    motion.base_position_w[:, 2] += height
    motion.base_position_w[ON_BOX, 2] += TEST_BOX_HEIGHT
    return motion


def _hold(simulator: IsaacSimulator, seconds: float, push_w: Array | None = None) -> RobotState:
    target = np.tile(SETUP.default_pose, (NUM_ROBOTS, 1))
    for _ in range(round(seconds / simulator.config.control_dt)):
        state = simulator.step(target, push_w)
    return state


def _in_the_air(simulator: IsaacSimulator) -> list[Check]:
    """Check frames, order of quaternions, gravity, and that states refer to each robot's origin."""
    turn = from_rpy(0.4, -0.3, np.full(NUM_ROBOTS, 2.0))
    thrown = replace(
        _start(5.0),
        base_quaternion=turn,
        linear_velocity_b=np.tile([1.0, 0.5, 0.0], (NUM_ROBOTS, 1)),
    )
    simulator.reset(thrown)
    duration = 0.1
    state = _hold(simulator, duration)
    before_w = rotate(turn, thrown.linear_velocity_b)
    after_w = rotate(state.base_quaternion, state.linear_velocity_b)
    moved = state.base_position_w - thrown.base_position_w
    cosine = np.abs(np.sum(turn * state.base_quaternion, axis=-1)).min()
    return [
        Check(
            "falls at g [m/s]", float((after_w - before_w)[UNCHANGED, 2]), -GRAVITY * duration, 0.01
        ),
        Check(
            "flies where it was thrown, x [m]",
            float(moved[:, 0].mean()),
            float(before_w[0, 0] * duration),
            0.01,
        ),
        Check(
            "all robots alike, from any origin [m]",
            float(np.ptp(moved[:, :2], axis=0).max()),
            0.0,
            1e-3,
        ),
        Check("attitude is kept, |cos| of half the angle", float(cosine), 1.0, 1e-3),
    ]


def _motors(simulator: IsaacSimulator) -> list[Check]:
    """Check lag and gain: a new target acts in the last of four physics steps."""
    motion = _start(5.0)
    simulator.reset(motion)
    state = simulator.step(motion.joint_position + 0.1)
    moved = np.abs(state.joint_position - motion.joint_position).mean(axis=1)
    gain = state.torque + simulator.config.kd * state.joint_velocity
    late = simulator.config.kp * (motion.joint_position + 0.1 - state.joint_position)
    return [
        Check(
            "without lag it moves further, times", float(moved[PROMPT] / moved[UNCHANGED]), 6.0, 2.0
        ),
        Check(
            "torque follows the gains [N m]", float(np.abs(gain - late)[UNCHANGED].max()), 0.0, 0.2
        ),
    ]


def _on_the_ground(simulator: IsaacSimulator) -> list[Check]:
    """Check forces, masses, boxes, torques, and that a reset of one robot moves no other."""
    simulator.reset(_start())
    state = _hold(simulator, 1.2)
    sensor = simulator.foot_sensor()
    pressed = state.foot_force_w[..., 2].sum(axis=1)
    height = state.base_position_w[:, 2]
    error = SETUP.default_pose - state.joint_position
    simulator.reset(_start()[[HEAVY]], robots=[HEAVY])
    later = _hold(simulator, 0.1)
    return [
        Check("feet carry the weight [N]", float(pressed[UNCHANGED]), WEIGHT, 0.02 * WEIGHT),
        Check(
            "force sensors show the weight [N]",
            float(sensor[UNCHANGED, :, 2].sum()),
            WEIGHT,
            0.02 * WEIGHT,
        ),
        Check(
            "an added mass adds weight [N]",
            float(pressed[HEAVY]),
            WEIGHT + ADDED_MASS * GRAVITY,
            0.02 * WEIGHT,
        ),
        Check("only feet touch the ground", float(state.body_contact.sum()), 0.0, 0.0),
        Check(
            "stands on its box [m]",
            float(height[ON_BOX] - height[UNCHANGED]),
            TEST_BOX_HEIGHT,
            2e-3,
        ),
        Check(
            "torque at rest [N m]",
            float(np.abs(state.torque - simulator.config.kp * error).max()),
            0.0,
            0.02,
        ),
        Check(
            "a reset moves no other robot [m]",
            float(later.base_position_w[UNCHANGED, 2] - height[UNCHANGED]),
            0.0,
            1e-3,
        ),
    ]


def _friction(simulator: IsaacSimulator) -> list[Check]:
    """Check friction with pushes slightly below and above the friction cone."""
    simulator.reset(_start())
    _hold(simulator, 0.6)
    push_w = np.zeros((NUM_ROBOTS, 3))
    push_w[[HOLDING, SLIDING], 0] = np.array([0.85, 1.15]) * FRICTION * WEIGHT
    # Slowly: a sudden push makes the legs swing and the feet slip.
    for part in np.linspace(0, 1, 30):
        _hold(simulator, 0.02, part * push_w)
    before = _hold(simulator, 0.3, push_w)
    after = _hold(simulator, 0.3, push_w)
    slipped = (after.foot_position_w - before.foot_position_w)[..., 0].mean(axis=1)
    sideways = np.abs(after.foot_force_w[HOLDING, :, :2]).max()
    return [
        Check("holds below the cone of friction [m]", float(slipped[HOLDING]), 0.0, 2e-3),
        Check("slides above it", float(slipped[SLIDING] > 0.01), 1.0, 0.0),
        Check("contact forces are along normals [N]", float(sideways), 0.0, 0.1),
    ]


def _table(report: dict[str, Any]) -> Table:
    about = [f"{name} {value}" for name, value in report["about"].items() if value is not None]
    table = Table(title=" · ".join(about))
    table.add_column("", justify="right")
    table.add_column("check")
    for column in ("found", "expected", "within"):
        table.add_column(column, justify="right")
    for check in report["checks"]:
        numbers = [f"{check[name]:.4g}" for name in ("found", "expected", "tolerance")]
        verdict = "ok" if check["ok"] else "NO"
        table.add_row(verdict, check["name"].replace("[", r"\["), *numbers)
    return table


def _write(path: Path, report: dict[str, Any]) -> None:
    path.write_text(json.dumps(report, indent=2) + "\n")


def main() -> int:
    """Check, print and write the report; return 0 if all checks pass."""
    parser = argparse.ArgumentParser(prog="python -m collect.isaac_selftest", description=__doc__)
    parser.add_argument(
        "--isaac-python",
        type=Path,
        help="Python 3.8 that has Isaac Gym (default: SOLO_ISAAC_PYTHON)",
    )
    parser.add_argument("--device", default="cuda:0", help="GPU, or cpu (default: cuda:0)")
    parser.add_argument(
        "--out", type=Path, default=Path("isaac_selftest.json"), help="file to write"
    )
    options = parser.parse_args()
    with one_line("isaac_selftest"):
        isaac = replace(find_isaac(ISAAC_WORKER, options.isaac_python), device=options.device)
        try:
            report = run_checks(isaac)
        except SimulationError as error:
            _write(options.out, {"ok": False, "error": str(error)})
            raise
        _write(options.out, report)
        console = Console()
        console.print(_table(report))
        console.print(f"report: {options.out}", markup=False)
        return 0 if report["ok"] else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
