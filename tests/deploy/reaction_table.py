"""Table of reactions to all causes, as deploy/docs/faults.md shows it.

`python -m tests.deploy.reaction_table` writes it again.
"""

from __future__ import annotations

from pathlib import Path

from deploy.common.faults import Cause
from deploy.common.reactions import REACTIONS, Reaction
from deploy.common.safety_config import SafetyConfig
from deploy.controller.safety import HELD_TICKS
from deploy.robots.process.gate_config import GateConfig
from deploy.robots.process.joint_watch import HEAT_SECONDS

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "faults.md"
"""Page with the generated table."""
MARKER = "<!-- reactions -->\n"
END = "<!-- end -->"
NO_FAULT = (Cause.NONE, Cause.UNKNOWN)
G = GateConfig()
S = SafetyConfig()
GRACE = {
    Cause.COMMAND_STALE: (
        f"the last command is held for {1000 * G.hold:.0f} ms; each hold is counted in the report"
    ),
    Cause.OVERRUN: f"one stall of up to {HELD_TICKS} ms per tenth of a second, which is held",
    Cause.VOLTAGE: f"{G.voltage_patience:g} s without interruption",
    Cause.MOTOR_HOT: f"thermal model: 11.1 A for {0.731 * HEAT_SECONDS:.1f} s",
    Cause.OPERATOR_SILENT: f"{S.operator_age:g} s; robot process {G.operator_age:g} s",
    Cause.DELAY: f"{S.patience:g} s",
    Cause.STATE_GAP: f"{S.gap_share} of 100",
}
"""Tolerated transients of causes that do not damp at once."""
MEANING = {
    Reaction.STAND: "stops walking and stands; the operator may only lie down or damp",
    Reaction.SIT: "lies down in a controlled way, then damps",
    Reaction.DAMP: "damps at once",
}


def table() -> str:
    """Return the table as Markdown, weakest reactions first."""
    lines = ["| reaction | the robot | causes | before it |", "|---|---|---|---|"]
    for cause, reaction in sorted(REACTIONS.items(), key=lambda row: (row[1], row[0])):
        lines.append(f"| {reaction.name} | {MEANING[reaction]} | {cause.name} | {GRACE[cause]} |")
    damping = [cause.name for cause in Cause if cause not in (*NO_FAULT, *REACTIONS)]
    reaction = Reaction.DAMP
    grace = "[threshold of each check](safety.md#checks)"
    lines.append(f"| {reaction.name} | {MEANING[reaction]} | {', '.join(damping)} | {grace} |")
    return "\n".join(lines)


def page() -> str:
    """Return the page with the present table."""
    before, rest = PAGE.read_text().split(MARKER, 1)
    return f"{before}{MARKER}{table()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page())
