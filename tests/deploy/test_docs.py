"""The pages in deploy/docs agree with the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.common.faults import Cause
from deploy.robots.virtual_board.fault_switches import SWITCHES
from tests.deploy.check_table import PAGE, Check, Level, checks, generated, page_with

HERE = Path(__file__).parent


def test_state_diagram_and_check_table_are_up_to_date() -> None:
    """`python -m tests.deploy.check_table` writes them again."""
    assert page_with(generated()) == PAGE.read_text()


def test_every_cause_has_one_level() -> None:
    """Every cause is a latched fault, except for a stop by the operator."""
    levels = {check.what: check.level for check in checks()}
    for cause in Cause:
        if cause in (Cause.NONE, Cause.UNKNOWN):
            continue
        expected = Level.DAMPING if cause is Cause.OPERATOR_STOP else Level.FAULT
        assert levels[cause.name] is expected


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.what)
def test_every_check_names_an_existing_test(check: Check) -> None:
    """Exactly one file below tests/deploy has the name, and it defines the test."""
    file, name = check.test.split("::")
    (path,) = HERE.rglob(file)
    assert f"def {name}(" in path.read_text()


def test_every_event_of_the_virtual_board_is_documented() -> None:
    page = (PAGE.parent / "virtual_board.md").read_text()
    assert [name for name in SWITCHES if f"`{name}`" not in page] == []
