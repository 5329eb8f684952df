"""solo-eval: measure how skills walk, how far they differ and if they keep the constraint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from solo_doi.common.command_line import Command, Program
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.settings import part_of
from solo_doi.common.steps import show_next, shown_steps
from solo_doi.evaluate.eval_config import EvalConfig, is_run


@dataclass(frozen=True, kw_only=True)
class EvalCommand(EvalConfig):
    """Roll out all skills of a run, bundle or checkpoint; write metrics.json and report.html.

    Examples:
      solo-eval runs/NAME                     report.html of a run
      solo-eval runs/NAME --select            also select the robust skills
      solo-eval runs/NAME --no-pictures       numbers only
      solo-eval --compare runs/sweep/*/       runs side by side
      solo-eval skills.onnx --out DIRECTORY   a bundle, as the robot runs it
      solo-eval model_2000.pt --out DIRECTORY the skills that data are collected with
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Runs of solo-train, .onnx files of solo-export or .pt checkpoints of solo-pretrain; the
    shipped skills by default."""
    compare: bool = False
    """Also compare the runs: medians and quartiles over seeds."""
    select: bool = False
    """Pick the robust skills, and record them in the run; includes the transfer table."""
    expert: Path | None = None
    """Checkpoint of the expert that returns are measured against; the shipped one by default."""
    out: Path | None = None
    """Directory for results: RUN/evaluation, NAME.evaluation or runs/comparison by default."""
    again: bool = False
    """Evaluate again, although there are results with the same settings."""
    pictures: bool = True
    """Draw figures and film strips, and write the report."""


def main() -> None:
    """Run solo-eval; errors that the user can correct are one line."""
    with one_line("solo-eval", "Runs that were evaluated keep their results."):
        PROGRAM.run()


def evaluate_all(command: EvalCommand) -> None:
    """Evaluate every run, then compare them if requested."""
    if not command.runs and command.compare:
        raise SoloError("Name the runs to compare: solo-eval --compare RUN RUN")
    config = part_of(command, EvalConfig)
    config.check()
    from solo_doi.evaluate.evaluate_run import check_folder, plan_evaluation  # heavy imports
    from solo_doi.evaluate.shipped import SHIPPED_RUN
    from solo_doi.solo12.observation import LAYOUTS

    from .evaluation_table import show_evaluation

    runs = command.runs or (SHIPPED_RUN,)
    if len(runs) > 1 and command.out is not None and not command.compare:
        raise SoloError(
            f"{command.out}: cannot hold the results of {len(runs)} runs. "
            "Use --compare, or no --out."
        )
    if command.out is not None:
        check_folder(command.out)
    out = None if command.compare else command.out
    # Check all runs before the first rollout, so that the last one cannot fail after minutes.
    plans = [
        plan_evaluation(run, out=out, expert=command.expert, config=config, select=command.select)
        for run in runs
    ]
    metrics_of_runs: dict[Path, dict[str, Any]] = {}
    for plan in plans:
        with shown_steps("solo-eval"):
            metrics = plan.execute(again=command.again)
        print(f"{plan.source}: {plan.result_file}")
        show_evaluation(metrics)
        if command.select:
            print(f"selected skills: {metrics['selected']}: {metrics['selection']['rule']}")
        metrics_of_runs[plan.source] = metrics
    if command.compare:
        from solo_doi.evaluate.compare_runs import compare

        print(compare(metrics_of_runs, command.out or Path("runs/comparison")))
    trained = []
    for plan in plans:
        runs_on_solo12 = metrics_of_runs[plan.source].get("task", "locomotion") in LAYOUTS
        if plan.source != SHIPPED_RUN and is_run(plan.source) and runs_on_solo12:
            trained.append(plan.source)
    if trained and not command.compare:
        show_next(f"solo-export {trained[-1]}")


PROGRAM = Program("solo-eval", lambda: Command(EvalCommand, evaluate_all), takes_paths=True)
