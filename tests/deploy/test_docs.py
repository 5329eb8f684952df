"""The documents say what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.common.faults import Cause
from deploy.common.state_machine import diagram
from tests.deploy.check_table import Check, Level, checks, table

HERE = Path(__file__).parent
README = HERE.parents[1] / "deploy" / "README.md"


def test_the_diagram_is_made_from_the_table() -> None:
    """A state machine that is drawn by hand drifts from the one that runs."""
    assert f"```mermaid\n{diagram()}\n```" in README.read_text()


def test_the_levels_are_made_from_the_code() -> None:
    """`python -c "from tests.deploy.check_table import table; print(table())"` makes it anew."""
    assert f"<!-- levels -->\n{table()}\n" in README.read_text()


def test_every_cause_has_a_level() -> None:
    """One, and damping unless a person asked for it."""
    levels = {check.what: check.level for check in checks()}
    for cause in Cause:
        if cause not in (Cause.NONE, Cause.UNKNOWN):
            assert levels[cause.name] is (
                Level.DAMPING if cause is Cause.OPERATOR_STOP else Level.FAULT
            )


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.what)
def test_every_check_has_its_test(check: Check) -> None:
    """Of that name, in that file."""
    file, name = check.test.split("::")
    assert f"def {name}(" in (HERE / file).read_text()
