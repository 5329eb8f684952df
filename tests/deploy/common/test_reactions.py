"""Table of reactions: one for controller and robot process, and the page that shows it."""

from __future__ import annotations

import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.reactions import REACTIONS, Reaction, reaction_to
from tests.deploy import reaction_table


def test_the_table_is_this() -> None:
    """The rows are repeated here: a change alters safety and the documents."""
    assert REACTIONS == {
        Cause.DELAY: Reaction.STAND,
        Cause.STATE_GAP: Reaction.SIT,
        Cause.OVERRUN: Reaction.SIT,
        Cause.OPERATOR_SILENT: Reaction.SIT,
        Cause.COMMAND_STALE: Reaction.SIT,
        Cause.VOLTAGE: Reaction.SIT,
        Cause.MOTOR_HOT: Reaction.SIT,
    }


def test_reactions_are_ordered_by_severity() -> None:
    assert Reaction.STAND < Reaction.SIT < Reaction.DAMP


@pytest.mark.parametrize("cause", Cause)
def test_all_other_causes_damp(cause: Cause) -> None:
    assert reaction_to(Fault(cause)) is REACTIONS.get(cause, Reaction.DAMP)


@pytest.mark.parametrize("cause", [Cause.VOLTAGE, Cause.TILT, Cause.UNKNOWN])
def test_a_fault_of_the_robot_has_the_reaction_of_its_cause(cause: Cause) -> None:
    assert reaction_to(Fault(Cause.ROBOT_FAULT, behind=cause)) is reaction_to(Fault(cause))


def test_the_page_shows_the_table() -> None:
    """`python -m tests.deploy.reaction_table` writes it again."""
    assert reaction_table.page() == reaction_table.PAGE.read_text()
