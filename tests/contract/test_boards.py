"""One contract for every client of a master board, on a virtual board and a virtual cable."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from . import board_client
from .board_runs import beside_board, need_sdk, unless_it_stood_still

WAYS = (("native", 3), ("native", 4), ("sdk", 3))
"""All drivers with their protocols; add new ones here."""


@functools.cache
def result_of(driver: str, protocol: int, repetition: int = 0) -> dict[str, Any]:
    """Run the client once per driver, protocol and repetition."""
    return unless_it_stood_still(lambda: _result(driver, protocol), json.dumps)


def _result(driver: str, protocol: int) -> dict[str, Any]:
    python = need_sdk() if driver == "sdk" else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        printed = beside_board(
            python,
            "-m",
            "tests.contract.board_client",
            driver,
            str(protocol),
            str(path),
            protocol=protocol,
            options=("--defect-seed", "1"),
        )
        assert path.exists(), printed
        result: dict[str, Any] = json.loads(path.read_text())
        return result


@pytest.mark.parametrize("check", [check.__name__ for check in board_client.CHECKS])
@pytest.mark.parametrize(("driver", "protocol"), WAYS)
def test_contract(driver: str, protocol: int, check: str) -> None:
    """`board_client` describes the requirement of each check."""
    outcome = result_of(driver, protocol)["outcome"]
    assert outcome.get(check, "never reached") == ""


def test_native_and_vendor_put_the_same_bytes_on_the_wire() -> None:
    """Forty random commands give equal bytes, except for session and index."""
    native, vendor = result_of("native", 3)["sent"], result_of("sdk", 3)["sent"]
    assert len(native) == 40
    assert native == vendor


@pytest.mark.parametrize(("driver", "protocol"), [("native", 4), ("sdk", 3)])
def test_lock_step_repeats_itself(driver: str, protocol: int) -> None:
    """Measurements do not depend on the machine's speed or on the time of connecting."""
    first, second = result_of(driver, protocol), result_of(driver, protocol, repetition=1)
    assert second["outcome"] == first["outcome"]
    assert second["measured"] == first["measured"]


def test_the_vendors_library_and_a_board_of_version_4_are_distinguished(tmp_path: Path) -> None:
    """The error comes at once, instead of after a timeout of 2.5 s."""
    path = tmp_path / "result.json"
    beside_board(need_sdk(), "-m", "tests.contract.board_client", "sdk", "4", str(path), protocol=4)
    outcome = json.loads(path.read_text())["outcome"]["connects"]
    assert "firmware speaks protocol 4, the vendor's library 3: use the driver 'native'" in outcome
