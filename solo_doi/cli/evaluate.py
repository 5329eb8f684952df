"""solo-eval: do the skills walk, do they differ, do they keep the constraint."""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.evaluate.eval_config import EvalConfig, is_bundle
from solo_doi.evaluate.report.html_report import show

SELECTION_FILE = "selection.json"
SHIPPED = Path(__file__).parents[1] / "skills" / "locomotion"
"""The run that comes with the package."""


@dataclass(frozen=True, kw_only=True)
class EvalCommand(EvalConfig):
    """Roll every skill of a run or a bundle out and write metrics.json, figures and report.html.

    Examples: `solo-eval runs/NAME`; `solo-eval runs/NAME --select` tells which skills are robust;
    `solo-eval --compare runs/sweep/*/` puts runs side by side; `solo-eval runs/NAME --pictures False` writes numbers;
    `solo-eval skills.onnx` rolls out what a robot would run.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Directories written by solo-train, or .onnx files of solo-export; the package's own skills if none is named."""
    compare: bool = False
    """Also compare the runs: medians and quartiles over seeds."""
    select: bool = False
    """Pick the robust skills, and record them in the run; includes the transfer table."""
    expert: Path | None = None
    """Checkpoint of the expert that returns are measured against; the shipped one by default."""
    out: Path | None = None
    """Where results go: RUN/evaluation or NAME.evaluation beside NAME.onnx; runs/comparison if runs are compared."""
    again: bool = False
    """Evaluate anew what was evaluated with the same settings before. What a run has is made again, never dropped."""
    pictures: Annotated[bool, tyro.conf.FlagConversionOff] = True
    """Draw figures and film strips, and write the report."""


def main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-eval", "Runs that were evaluated keep their results."):
        evaluate_all(
            tyro.cli(EvalCommand, prog="solo-eval", config=(tyro.conf.FlagCreatePairsOff,))
        )


def evaluate_all(command: EvalCommand) -> None:
    """Evaluate every run, then compare them if asked to."""
    if not command.runs and (command.out is None or command.compare):
        raise SoloError(
            "The shipped skills need a place for their results: solo-eval --out DIRECTORY"
        )
    values = {field.name: getattr(command, field.name) for field in fields(EvalConfig)}
    config = EvalConfig(**values | {"transfer": command.transfer or command.select})
    config.check()
    runs = command.runs or (SHIPPED,)
    if len(runs) > 1 and command.out is not None and not command.compare:
        raise SoloError(
            f"{command.out}: cannot hold the results of {len(runs)} runs. Use --compare, or no --out."
        )
    plans = {
        run: _plan(run, command, config) for run in runs
    }  # all of them looked at before any is rolled out
    done: dict[Path, dict[str, Any]] = {}
    for run, (out, config) in plans.items():
        metrics = _evaluate(run, command, config, out)
        print(f"{run}: {out / 'report.html' if config.pictures else out / 'metrics.json'}")
        _show(metrics)
        elsewhere = run == SHIPPED or is_bundle(run)
        _keep_selection(
            metrics,
            out if elsewhere else run,
            asked=command.select,
            same=elsewhere or out == _place(run),
        )
        done[run] = metrics
    if command.compare:
        from solo_doi.evaluate.compare_runs import compare

        print(compare(done, command.out or Path("runs/comparison")))


def _keep_selection(metrics: dict[str, Any], place: Path, *, asked: bool, same: bool) -> None:
    """Record which skills are robust, if asked to; a record of the `same` run that is there does not grow old."""
    path = place / SELECTION_FILE
    if not asked and not (same and path.is_file()):
        return
    if "selection" not in metrics:  # it was of a policy that is no more
        path.unlink()
        return
    text = json.dumps(metrics["selection"], indent=1) + "\n"
    if not path.is_file() or path.read_text() != text:
        write_text(path, text)
    print(f"selected skills: {metrics['selected']}: {metrics['selection']['rule']}")


def _place(run: Path) -> Path:
    """Where the results of a run or a bundle go if nothing else is said."""
    return run.with_suffix(".evaluation") if is_bundle(run) else run / "evaluation"


def _plan(run: Path, command: EvalCommand, config: EvalConfig) -> tuple[Path, EvalConfig]:
    """Where results go, and what is made: what was made there before, too."""
    from solo_doi.evaluate.cache import (
        read_earlier,
        with_earlier,
    )  # heavy: after the flags are checked
    from solo_doi.evaluate.source import read_source

    out = _place(run) if command.compare or command.out is None else command.out
    for folder in (out, command.out):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise SoloError(
                f"{folder}: a file. Expected a directory for the results: choose another --out."
            )
    config = with_earlier(config, read_earlier(run, out), out)
    read_source(run, config)
    return out, config


def _evaluate(run: Path, command: EvalCommand, config: EvalConfig, out: Path) -> dict[str, Any]:
    from solo_doi.evaluate.cache import has_all, read_earlier, same_settings
    from solo_doi.evaluate.evaluate_run import evaluate_run

    expert, before = command.expert or shipped_expert(), read_earlier(run, out)
    if command.again or not (before and same_settings(before, run, expert, config)):
        return evaluate_run(run, expert, config, out)
    return (
        before if has_all(before, config, out) else evaluate_run(run, expert, config, out, before)
    )


def shipped_expert() -> Path:
    """Return the checkpoint of the expert that comes with the package."""
    # By its place, not by import: the library knows no application.
    path = (
        Path(str(importlib.resources.files("collect"))) / "checkpoints" / "locomotion" / "expert.pt"
    )
    if not path.is_file():
        raise SoloError(f"{path}: no such file. Name the expert's checkpoint with --expert.")
    return path


def _show(metrics: dict[str, Any]) -> None:
    rows = {skill["skill"]: skill for skill in metrics["skills"]}
    rows |= {"smodice": metrics["smodice"]} if "smodice" in metrics else {}
    table = Table(
        "skill", "return %", "vx", "falls", "height mm", "± mm", "lift mm", "stride Hz", "pairs"
    )
    for name, skill in (rows | {"expert": metrics["expert"]}).items():
        table.add_row(
            str(name), f"{skill.get('return_pct', 100):.0f}", f"{skill['vx']:.2f}",
            str(skill["falls"]), f"{1000 * skill['height_mean']:.0f}", f"{1000 * skill['height_std']:.1f}",
            f"{1000 * skill['clearance']:.0f}", f"{skill['frequency']:.1f}", f"{skill['pair_phase']:.2f}",
        )  # fmt: skip
    Console().print(table)
    if "told_apart" in metrics:
        names = (
            "return_pct_mean", "ratio_l1_trajectory", "sf_l2_standardised", "told_apart", "silhouette",
            "visibly_different", "transfer_score",
        )  # fmt: skip
        print(" · ".join(f"{name} {show(metrics[name])}" for name in names if name in metrics))
