"""The whole way to a walking Solo12, but for the metal.

Board, cable, driver, LCM, controller, estimator, skill.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deploy.common.walk_summary import summarise_track
from deploy.messages.lcm_link import STATE, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from tests.contract.board_runs import need_namespace, need_sdk, unless_it_stood_still
from tests.contract.test_boards import WAYS

ROOT = Path(__file__).parents[4]
PATIENCE = 1200.0
"""When a test gives up: far beyond what a slow machine needs [s]."""
ON_THE_GROUND = 0.15
"""Above what a base has that lies on folded legs or its belly.

Far below one that hangs or stands [m].
"""
NETWORK = "ip link set lo up && ip route add 224.0.0.0/4 dev lo"


def deploy(out: Path, *words: str) -> dict:
    """Run solo-deploy in lock-step in a network of its own; return its summary."""
    need_namespace()
    program = [sys.executable, "-c", "from deploy.cli.deploy import main; main()"]
    command = [*program, "--robot", "virtual", "--fast", "--out", str(out), *words]
    script = (
        f"rm -rf {out}; {NETWORK} && exec "
        f"{shlex.join(command)}"  # an earlier try may have been there
    )
    ran = unless_it_stood_still(
        lambda: subprocess.run(
            ["unshare", "-Urn", "sh", "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ),
        lambda result: result.stderr if result.returncode else "",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads((out / "summary.json").read_text())


def positions(out: Path) -> str:
    """Hash of all joint positions that were measured."""
    rows = [
        decode(STATE, data).joint_position
        for _, channel, data in read_log(out / LOG_FILE)
        if channel == STATE
    ]
    return hashlib.sha256(np.array(rows).tobytes()).hexdigest()


def height(out: Path, time: float) -> float:
    """Where the simulated base truly was at a time of the robot's clock [m]."""
    track = np.array(json.loads((out / "board.json").read_text())["track"])
    return float(track[np.searchsorted(track[:, 0], time), 3])


def way(driver: str, protocol: int) -> tuple[str, ...]:
    """Flags of a driver and a protocol; skips without an interpreter that has the driver."""
    robot = ("--robot-python", need_sdk()) if driver == "sdk" else ()
    return ("--driver", driver, "--protocol", str(protocol), *robot)


@pytest.mark.parametrize(("driver", "protocol"), WAYS)
def test_it_calibrates_stands_walks_switches_and_sits(
    driver: str, protocol: int, tmp_path: Path
) -> None:
    """Five seconds at 85 % of the commanded velocity or more.

    A second run gives the same numbers, bit for bit.
    """
    flags = (*way(driver, protocol), "--skill", "2", "--then", "4", "--seconds", "2.5")
    summary, again = deploy(tmp_path / "run", *flags), deploy(tmp_path / "again", *flags)
    states = [entry["state"] for entry in summary["history"]]
    assert states == ["IDLE", "STAND", "READY", "WALK", "WALK", "STAND", "READY", "SIT", "IDLE"]
    assert summary["walk"]["velocity"] >= 0.85
    stood_up = next(entry["time"] for entry in summary["history"] if entry["state"] == "STAND")
    assert height(tmp_path / "run", stood_up) < ON_THE_GROUND
    assert summary["walk"]["falls"] == 0
    assert 10.0 <= summary["delay_ms"]["min"] <= summary["delay_ms"]["max"] <= 25.0
    assert again["walk"] == summary["walk"]
    assert positions(tmp_path / "again") == positions(tmp_path / "run")


def test_a_walk_is_what_happened_while_a_skill_had_the_motors() -> None:
    """Rows before, after and in the first second count for the distance at most.

    A fall is counted once.
    """
    track = [
        [
            k / 100,
            k / 100,
            0.0,
            0.25,
            1.0 if k < 300 else 0.5,
            1.5 if 350 <= k < 360 else 0.0,
            400 <= k < 410,
            0.02,
        ]
        for k in range(600)
    ]
    history = [
        {"time": 0.5, "state": "IDLE"},
        {"time": 1.0, "state": "WALK"},
        {"time": 5.0, "state": "STAND"},
    ]
    found = summarise_track(track, history)
    assert found.walked_seconds == 4.0
    assert found.distance == pytest.approx(3.99)
    assert found.velocity == pytest.approx((100 * 1.0 + 200 * 0.5) / 300)
    assert found.falls == 2  # tilted, and on its belly
    assert found.energy == pytest.approx(400 * 0.02)
    assert summarise_track([], []).velocity == 0.0
