"""solo-deploy --check: go or no-go, before anybody switches a motor on."""

from __future__ import annotations

from datetime import date
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from deploy.common.deploy_config import DeployConfig
from deploy.launch.preflight import with_calibration_path
from deploy.launch.skill_checks import check_skills
from deploy.robots.odri.bring_up.calibration import load
from deploy.robots.registry import kind_of
from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import Contract

from .bench_session import check_place, command_of, follow
from .go_checks import Row, Verdict, judge, row
from .live_tables import Screen, sensors

LISTEN, LISTEN_FAST = 5.0, 1.0
"""How long packets are counted; in lock-step, which has no clock to judge, less [s]."""
STYLES = {
    Verdict.GO: "green",
    Verdict.NO_GO: "bold red",
    Verdict.NOT_CHECKED: "yellow",
    Verdict.NOT_APPLICABLE: "",
}
NO_GO, INCOMPLETE = 1, 3
"""Exit codes: something is wrong; nothing is, as far as was checked."""


def check_up(config: DeployConfig, *, yes: bool) -> int:
    """Look at a robot with its motors off, show a table; return 0 only if everything was checked and is good."""
    check_place(config)
    first, contract = _skills(config)
    with Screen(sensors) as screen:
        rows = [first, *_robot(config, contract, screen, yes=yes)]
    table = Table("check", "found", "limit", "verdict", "what to do", title="Preflight")
    for entry in rows:
        verdict = Text(entry.verdict.value, STYLES[entry.verdict])
        table.add_row(entry.name, escape(entry.value), entry.limit, verdict, escape(entry.advice))
    screen.console.print(table)
    code, words = verdict_of(rows)
    screen.console.print(words)
    return code


def verdict_of(rows: list[Row]) -> tuple[int, str]:
    """Return the exit code and the last line."""
    wrong = [entry.name for entry in rows if entry.verdict is Verdict.NO_GO]
    skipped = [entry.name for entry in rows if entry.verdict is Verdict.NOT_CHECKED]
    if wrong:
        return NO_GO, f"[bold red]NO-GO[/]: {', '.join(wrong)}"
    if skipped:
        return INCOMPLETE, f"[yellow]Nothing wrong, but not checked[/]: {', '.join(skipped)}"
    return 0, "[bold green]GO[/]"


def _skills(config: DeployConfig) -> tuple[Row, Contract | None]:
    try:
        bundle = check_skills(config)
    except SoloError as error:
        return row("skills", "", "may walk", str(error), good=False), None
    return row(
        "skills", f"{bundle.path.name}, skill {config.skill}", "may walk", "", good=True
    ), bundle.contract


def _robot(
    config: DeployConfig, contract: Contract | None, screen: Screen, *, yes: bool
) -> list[Row]:
    """Ask the robot; whatever it does, there is a row that says so."""
    try:
        seconds = LISTEN_FAST if config.fast else LISTEN
        seen: dict[str, Any] = follow(
            command_of("check", config, seconds=seconds, yes=yes), screen.show
        )
    except SoloError as error:
        return [row("master board", "", "answers", str(error), good=False)]
    rows = [
        *judge(seen, contract, simulated_time=config.fast),
        calibration_row(config, seen["address"]),
    ]
    if seen["refused"]:  # the jitter above was measured without it, and is what counts
        rows.append(Row("real time", "not allowed", "", Verdict.GO, f"Note: {seen['refused'][0]}"))
    return rows


def calibration_row(config: DeployConfig, address: str) -> Row:
    """Whether there is a calibration that is this board's, believable, and how old it is."""
    name, limit = "calibration", "of this board"
    if config.calibration is None and not kind_of(config).calibration_in_file:
        return Row(name, "known: the robot is simulated", limit, Verdict.GO)
    path = with_calibration_path(config).calibration
    assert path is not None  # the real robot's has a place
    try:
        calibration = load(path)
        calibration.check_board(address)
        note = calibration.check_age(date.today())
    except SoloError as error:
        return row(name, str(path), limit, str(error), good=False)
    return Row(
        name, f"{calibration.measured}, {calibration.measured_with}", limit, Verdict.GO, note
    )
