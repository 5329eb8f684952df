"""`solo-deploy --check`: go or no-go, before any motor is switched on."""

from __future__ import annotations

from datetime import date
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from deploy.common.deploy_config import DeployConfig
from deploy.launch.preflight import with_calibration_path
from deploy.launch.readiness import record_go
from deploy.launch.skill_checks import check_skills
from deploy.robots.odri.bring_up.calibration import load
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import Contract

from .bench_session import check_robot_kind, command_of, follow
from .check_row import CheckRow, Verdict, judged_row
from .go_checks import judge
from .live_tables import Screen, sensors

LISTEN_SECONDS = 5.0
"""Time for which packets are counted [s]."""
LISTEN_SECONDS_LOCK_STEP = 1.0
"""The same in lock-step, where packet rate and jitter have no meaning [s]."""
STYLES = {
    Verdict.GO: "green",
    Verdict.NO_GO: "bold red",
    Verdict.NOT_CHECKED: "yellow",
    Verdict.NOT_APPLICABLE: "",
}
EXIT_NO_GO = 1
EXIT_INCOMPLETE = 3
"""Exit code if no check failed, but some were skipped."""


def run_preflight_check(config: DeployConfig, *, yes: bool) -> int:
    """Check a robot with its motors off and print a table.

    Returns 0 only if all checks were made and passed. `yes` skips the checks by hand.
    """
    check_robot_kind(config)
    skills, contract = _check_skills(config)
    with Screen(sensors) as screen:
        rows = [skills, *_check_robot(config, contract, screen, yes=yes)]
    table = Table("check", "found", "limit", "verdict", "what to do", title="Preflight")
    for entry in rows:
        verdict = Text(entry.verdict.value, STYLES[entry.verdict])
        table.add_row(entry.name, escape(entry.value), entry.limit, verdict, escape(entry.advice))
    screen.console.print(table)
    code, words = verdict_of(rows)
    if code == 0 and kind_of(config).is_real and config.calibration is not None:
        record_go(load(config.calibration).board)  # one row compares it with the board
    screen.console.print(words)
    return code


def verdict_of(rows: list[CheckRow]) -> tuple[int, str]:
    """Return the exit code and the last line."""
    wrong = [entry.name for entry in rows if entry.verdict is Verdict.NO_GO]
    skipped = [entry.name for entry in rows if entry.verdict is Verdict.NOT_CHECKED]
    if wrong:
        return EXIT_NO_GO, f"[bold red]NO-GO[/]: {', '.join(wrong)}"
    if skipped:
        return EXIT_INCOMPLETE, f"[yellow]Nothing wrong, but not checked[/]: {', '.join(skipped)}"
    return 0, "[bold green]GO[/]"


def calibration_row(config: DeployConfig, address: str) -> CheckRow:
    """Check that the calibration exists, is plausible, and belongs to the board with `address`."""
    name = "calibration"
    limit = "of this board"
    if config.calibration is None and not kind_of(config).calibration_in_file:
        return CheckRow(name, "known: the robot is simulated", limit, Verdict.GO)
    path = with_calibration_path(config).calibration
    assert path is not None, "a robot with a calibration file has a default place for it"
    try:
        calibration = load(path)
        calibration.check_board(address)
        note = calibration.check_age(date.today())
    except SoloError as error:
        return judged_row(name, str(path), limit, str(error), good=False)
    value = f"{calibration.measured}, {calibration.measured_with}"
    return CheckRow(name, value, limit, Verdict.GO, note)


def _check_skills(config: DeployConfig) -> tuple[CheckRow, Contract | None]:
    """Return the row of the skills, and their contract if all checks passed."""
    try:
        bundle = check_skills(config)
    except SoloError as error:
        return judged_row("skills", "", "may walk", str(error), good=False), None
    value = f"{bundle.path.name}, skill {config.skill}"
    return CheckRow("skills", value, "may walk", Verdict.GO), bundle.contract


def _check_robot(
    config: DeployConfig, contract: Contract | None, screen: Screen, *, yes: bool
) -> list[CheckRow]:
    """Inspect the robot and return its rows; a failed inspection becomes a NO-GO row."""
    seconds = LISTEN_SECONDS_LOCK_STEP if config.fast else LISTEN_SECONDS
    command = command_of("check", config, seconds=seconds, yes=yes)
    try:
        seen: dict[str, Any] = follow(command, screen.show)
    except SoloError as error:
        return [judged_row("master board", "", "answers", str(error), good=False)]
    rows = list(judge(seen, contract, simulated_time=config.fast))
    rows.append(calibration_row(config, seen["address"]))
    if seen["refused"]:
        # Only a note: the jitter without real-time scheduling is measured and judged above.
        note = f"Note: {seen['refused'][0]}"
        rows.append(CheckRow("real time", "not allowed", "", Verdict.GO, note))
    return rows
