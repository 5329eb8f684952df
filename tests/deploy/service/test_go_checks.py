"""The preflight's limits, with given numbers and without a board."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.common.deploy_config import DeployConfig
from deploy.robots.odri.bring_up.calibration import save
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from deploy.service.check import calibration_row, verdict_of
from deploy.service.check_row import CheckRow, Verdict
from deploy.service.go_checks import judge
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED

CONTRACT = Bundle(SHIPPED).contract
GOOD: dict[str, Any] = {
    "protocol": 4, "driver": "native", "drivers": 0x3F, "address": CALIBRATION.board,
    "failure": "", "packets": 5000,
    "rejected": 0,
    "hands": {"answers": [[joint, joint, 0.2] for joint in range(12)],
    "nose": {"accelerometer": -0.2, "filter": -0.3}},
    "seconds": 5.0, "sent": 5000, "lost": 0, "lag": 1, "commands_lost": 0, "gaps": [0.001, 0.0012,
    0.004],
    "faults": [], "system_on": [True] * 6, "jump": [0, 0.001], "imu_same": 1, "acceleration": [0.0,
    0.0, 9.8],
    "gyroscope": [0.01, 0.0, 0.0], "attitude": [0.01, 0.0, 1.0], "voltage": 24.0, "current": 0.25,
    "refused": [],
}  # fmt: skip


def judged(**changes: object) -> dict[str, CheckRow]:
    """Return the rows by name, with some numbers changed."""
    return {row.name: row for row in judge({**GOOD, **changes}, CONTRACT, simulated_time=False)}


def test_a_good_robot_goes_in_every_row() -> None:
    assert {row.verdict for row in judged().values()} == {Verdict.GO}


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"protocol": 0}, "protocol"),
        ({"sent": 4900}, "packet rate"),
        ({"sent": 5100}, "packet rate"),
        ({"gaps": [0.001, 0.002, 0.006]}, "jitter"),
        ({"lost": 6}, "measurements lost"),
        ({"commands_lost": 6}, "commands lost"),
        ({"lag": 11}, "commands confirmed"),
        ({"system_on": [True] * 5 + [False]}, "motor drivers"),
        ({"drivers": 0x1F}, "motor drivers"),
        ({"jump": [3, 0.2]}, "encoders at rest"),
        ({"imu_same": 21}, "IMU at rest"),
        ({"acceleration": [0.0, 0.0, 0.0]}, "IMU at rest"),
        ({"gyroscope": [0.0, 0.0, 0.2]}, "IMU at rest"),
        ({"attitude": [0.2, 0.0, 0.0]}, "IMU level"),
        ({"voltage": 21.9}, "battery"),
        (
            {"hands": {**GOOD["hands"], "nose": {"accelerometer": -0.2, "filter": 0.2}}},
            "IMU nose up",
        ),
        ({"hands": {"answers": GOOD["hands"]["answers"][:11], "nose": None}}, "joint order"),
    ],
)
def test_beyond_its_limit_a_row_is_no_go(changes: dict[str, object], row: str) -> None:
    """The row has advice."""
    if changes.get("protocol") == 0:
        changes = {**changes, "gaps": None}  # an unknown protocol has no measurements
    found = judged(**changes)[row]
    assert found.verdict is Verdict.NO_GO
    assert found.advice


def test_gains_that_the_protocol_cannot_carry_are_no_go() -> None:
    """Protocol 4 allows half of the gains of protocol 3."""
    strong = replace(CONTRACT, kp=8.0)
    for protocol, verdict in ((3, Verdict.GO), (4, Verdict.NO_GO)):
        rows = {
            row.name: row
            for row in judge({**GOOD, "protocol": protocol}, strong, simulated_time=False)
        }
        assert rows["limits"].verdict is verdict


def test_firmware_without_a_voltage_can_go() -> None:
    """Lock-step has no clock to judge either; the checks by hand are still needed."""
    old = {**GOOD, "protocol": 3, "voltage": float("nan"), "current": float("nan")}
    rows = list(judge(old, CONTRACT, simulated_time=True))
    skipped = [row.name for row in rows if row.verdict is Verdict.NOT_APPLICABLE]
    assert skipped == ["packet rate", "jitter", "battery"]
    assert verdict_of(rows)[0] == 0
    assert verdict_of([*judge({**old, "hands": None}, CONTRACT, simulated_time=True)])[0] == 3


def test_the_battery_has_its_current_beside_its_voltage() -> None:
    """The current is not judged, because it differs between robots with motors off."""
    found = judged(current=1.5)["battery"]
    assert (found.value, found.verdict) == ("24.0 V, 1.50 A", Verdict.GO)


def test_exit_codes_distinguish_wrong_from_unchecked() -> None:
    """The code is 0 only if every row is go."""
    rows = {verdict: CheckRow("x", "", "", verdict) for verdict in Verdict}
    assert verdict_of([rows[Verdict.GO], rows[Verdict.NOT_APPLICABLE]])[0] == 0
    assert verdict_of([rows[Verdict.GO], rows[Verdict.NOT_CHECKED]])[0] == 3
    assert verdict_of([rows[Verdict.NO_GO], rows[Verdict.NOT_CHECKED]])[0] == 1


def calibration(path: Path, address: str = CALIBRATION.board, **changes: Any) -> CheckRow:
    """Return the row of a stored calibration with some fields changed."""
    save(replace(CALIBRATION, **{"measured": date.today(), **changes}), path)
    return calibration_row(DeployConfig(robot="real", calibration=path), address)


def test_a_calibration_of_this_board_goes(tmp_path: Path) -> None:
    """An old calibration is accepted with a note."""
    path = tmp_path / "c.json"
    assert calibration(path) == CheckRow(
        "calibration", f"{date.today()}, native, protocol 4", "of this board", Verdict.GO, ""
    )
    old = calibration(path, measured=date.today() - timedelta(days=91))
    assert old.verdict is Verdict.GO
    assert "91 days old" in old.advice


def test_other_calibrations_are_no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calibration is missing, of another board, from the future or implausible."""
    path = tmp_path / "c.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "empty"))
    for row, words in (
        (calibration_row(DeployConfig(robot="real"), "x"), "solo-deploy calibrate"),
        (calibration(path, "02:00:00:00:00:09"), "belongs to board"),
        (calibration(path, measured=date.today() + timedelta(days=1)), "is in the future"),
        (calibration(path, offset=np.zeros(12)), "twelve equal offsets"),
        (
            calibration_row(DeployConfig(robot="real", calibration=tmp_path / "none"), "x"),
            "never calibrated",
        ),
    ):
        assert row.verdict is Verdict.NO_GO
        assert words in row.advice
    assert calibration_row(DeployConfig(robot="virtual"), "x").verdict is Verdict.GO
