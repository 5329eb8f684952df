"""The whole chain to a walking Solo12, except for the hardware.

Board, cable, driver, LCM, controller, estimator and skill are the real ones.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deploy.common.walk_summary import summarise_true_path
from deploy.messages.lcm_link import STATE_CHANNEL, decode
from deploy.recorder.recorder import LOG_FILE, read_log
from tests.command import SOLO_DEPLOY
from tests.contract.board_runs import need_namespace, need_sdk, unless_it_stood_still
from tests.contract.test_boards import WAYS
from tests.deploy.deployment import DEFECT_SEED
from tests.sizes import size

ROOT = Path(__file__).parents[4]
PATIENCE = 1200.0
"""Timeout of a test, far longer than a slow machine needs [s]."""
ON_THE_GROUND = 0.15
"""Height that separates a lying base from a standing or hanging one [m]."""
WALKS = ("--skill", "2", "--then", "4", "--seconds", size(in_ci="1.5", in_full="2.5"))
"""Two walks; the first second does not count for the velocity."""
NETWORK = "ip link set lo up && ip route add 224.0.0.0/4 dev lo"


def deploy(out: Path, *words: str) -> dict:
    """Run solo-deploy in lock-step in a network of its own; return its summary."""
    need_namespace()
    seed = ("--defect-seed", DEFECT_SEED)
    command = [*SOLO_DEPLOY, "--robot", "virtual", "--fast", *seed, "--out", str(out), *words]
    script = (
        f"rm -rf {out}; {NETWORK} && exec "
        f"{shlex.join(command)}"  # an earlier attempt may have left files
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
    return summary_of(out)


def summary_of(out: Path) -> dict:
    """Return the written summary of a run."""
    return json.loads((out / "summary.json").read_text())


def positions(out: Path) -> str:
    """Return the hash of all measured joint positions."""
    rows = [
        decode(STATE_CHANNEL, data).joint_position
        for _, channel, data in read_log(out / LOG_FILE)
        if channel == STATE_CHANNEL
    ]
    return hashlib.sha256(np.array(rows).tobytes()).hexdigest()


def height(out: Path, time: float) -> float:
    """Return the true height of the simulated base at a time of the robot's clock [m]."""
    track = np.array(json.loads((out / "board.json").read_text())["track"])
    return float(track[np.searchsorted(track[:, 0], time), 3])


def way(driver: str, protocol: int) -> tuple[str, ...]:
    """Flags of a driver and a protocol; the test is skipped if no interpreter has the driver."""
    robot = ("--robot-python", need_sdk()) if driver == "sdk" else ()
    return ("--driver", driver, "--protocol", str(protocol), *robot)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Run a driver with a protocol once for all tests; the function returns its folder."""

    @functools.cache
    def first_run(driver: str, protocol: int) -> Path:
        out = tmp_path_factory.mktemp("virtual") / "run"
        deploy(out, *way(driver, protocol), *WALKS)
        return out

    return first_run


IN_CI = [("native", 4), ("sdk", 3)]
"""Both drivers and both protocols; `.ci/full` has every combination."""


@pytest.mark.parametrize(("driver", "protocol"), size(in_ci=IN_CI, in_full=WAYS))
def test_it_calibrates_stands_walks_switches_and_sits(
    driver: str, protocol: int, first_run: Callable[[str, int], Path]
) -> None:
    """The robot walks with both skills at 85 % of the commanded velocity or more."""
    out = first_run(driver, protocol)
    summary = summary_of(out)
    states = [entry["state"] for entry in summary["history"]]
    assert states == ["IDLE", "STAND", "READY", "WALK", "WALK", "STAND", "READY", "SIT", "IDLE"]
    assert summary["walk"]["velocity"] >= 0.85
    stood_up = next(entry["time"] for entry in summary["history"] if entry["state"] == "STAND")
    assert height(out, stood_up) < ON_THE_GROUND
    assert summary["walk"]["falls"] == 0
    assert 10.0 <= summary["delay_ms"]["min"] <= summary["delay_ms"]["max"] <= 25.0


@pytest.mark.parametrize(("driver", "protocol"), size(in_ci=[], in_full=WAYS))
def test_a_second_run_gives_the_same_numbers(
    driver: str, protocol: int, tmp_path: Path, first_run: Callable[[str, int], Path]
) -> None:
    """Walk and measured joint positions are equal to the last bit.

    In CI, `test_end_to_end` tests this in PyBullet, and `test_boards` on the virtual board below
    the robot process.
    """
    out = first_run(driver, protocol)
    again = deploy(tmp_path / "again", *way(driver, protocol), *WALKS)
    assert again["walk"] == summary_of(out)["walk"]
    assert positions(tmp_path / "again") == positions(out)


def test_a_walk_covers_the_time_of_an_active_skill() -> None:
    """Rows before, after and in the first second count only for the distance.

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
    found = summarise_true_path(track, history)
    assert found.walked_seconds == 4.0
    assert found.distance == pytest.approx(3.99)
    assert found.velocity == pytest.approx((100 * 1.0 + 200 * 0.5) / 300)
    assert found.falls == 2  # tilted, and on its belly
    assert found.energy == pytest.approx(400 * 0.02)
    assert summarise_true_path([], []).velocity == 0.0
