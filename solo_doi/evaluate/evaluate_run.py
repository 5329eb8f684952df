"""Evaluation of one source: checks first, then rollouts. Reuses earlier results."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.runs.run_files import EVALUATION_METRICS_FILE, EVALUATION_REPORT_FILE, RunFiles

from .cache import (
    has_all_parts,
    has_same_settings,
    include_earlier_parts,
    read_earlier,
)
from .episodes_plan import EpisodesPlan, plan_episodes, reports_episodes
from .eval_config import EvalConfig, is_run
from .shipped import SHIPPED_EXPERT, SHIPPED_RUN
from .source import read_source
from .write_evaluation import write_evaluation

SELECTION_FILE = "selection.json"


def evaluate_run(
    source: Path | str,
    *,
    out: Path | str | None = None,
    expert: Path | str | None = None,
    config: EvalConfig | None = None,
    select: bool = False,
    again: bool = False,
) -> dict[str, Any]:
    """Evaluate the skills of a run, a bundle or a checkpoint; return the content of metrics.json.

    Args:
        source: Run directory of solo-train, .onnx bundle of solo-export, or .pt checkpoint.
        out: Folder for the results; RUN/evaluation or NAME.evaluation (of NAME.onnx) by default.
        expert: Checkpoint of the expert that returns are compared with; the shipped one by default.
        config: Settings of the evaluation.
        select: Also make the transfer table, and record the robust skills in selection.json.
        again: Evaluate again although results of the same settings exist.

    Raises:
        SoloError: The source, the expert or the settings cannot be evaluated.
    """
    plan = plan_evaluation(source, out=out, expert=expert, config=config, select=select)
    return plan.execute(again=again)


@dataclass(frozen=True)
class EvaluationPlan:
    """A checked evaluation that has not been executed yet."""

    source: Path
    """Run directory, bundle or checkpoint."""
    out: Path
    """Folder of the results."""
    expert: Path
    """Checkpoint of the expert."""
    config: EvalConfig
    """Settings, extended by the parts that earlier results in `out` have."""
    select: bool
    """True to write selection.json."""

    @property
    def result_file(self) -> Path:
        """File to read first: the report, or metrics.json if no pictures are drawn."""
        return self.out / (
            EVALUATION_REPORT_FILE if self.config.pictures else EVALUATION_METRICS_FILE
        )

    def execute(self, *, again: bool = False) -> dict[str, Any]:
        """Evaluate, unless results of the same settings exist.

        Return the content of metrics.json.
        """
        metrics = self._metrics(again=again)
        self._update_selection(metrics)
        return metrics

    def _metrics(self, *, again: bool) -> dict[str, Any]:
        earlier = read_earlier(self.source, self.out)
        usable = bool(earlier) and has_same_settings(earlier, self.source, self.expert, self.config)
        if again or not usable:
            return write_evaluation(self.source, self.expert, self.config, self.out)
        if has_all_parts(earlier, self.source, self.config, self.out):
            return earlier
        return write_evaluation(self.source, self.expert, self.config, self.out, earlier)

    def _update_selection(self, metrics: dict[str, Any]) -> None:
        """Write selection.json if requested, or if an earlier one would become outdated."""
        # The shipped run and single files are read-only: their selection lies beside the results.
        read_only = self.source == SHIPPED_RUN or not is_run(self.source)
        path = (self.out if read_only else self.source) / SELECTION_FILE
        belongs_to_results = read_only or self.out == default_folder(self.source)
        if not self.select and not (belongs_to_results and path.is_file()):
            return
        if "selection" not in metrics:  # the file describes a policy that was replaced since
            path.unlink()
            return
        text = json.dumps(metrics["selection"], indent=1) + "\n"
        if not path.is_file() or path.read_text() != text:
            write_text(path, text)


def plan_evaluation(
    source: Path | str,
    *,
    out: Path | str | None = None,
    expert: Path | str | None = None,
    config: EvalConfig | None = None,
    select: bool = False,
) -> EvaluationPlan | EpisodesPlan:
    """Check everything that can be checked before rollouts; arguments as in `evaluate_run`."""
    source = Path(source)
    if source == SHIPPED_RUN and out is None:
        raise SoloError(
            "The shipped skills need a folder for their results: solo-eval --out DIRECTORY"
        )
    config = config or EvalConfig()
    config.check()
    if select:
        config = replace(config, transfer=True)
    folder = default_folder(source) if out is None else Path(out)
    check_folder(folder)
    if reports_episodes(source):
        return plan_episodes(source, folder, config, select=select)
    config = include_earlier_parts(config, read_earlier(source, folder), folder)
    read_source(source, config)
    expert = SHIPPED_EXPERT if expert is None else Path(expert)
    return EvaluationPlan(source, folder, expert, config, select)


def default_folder(source: Path) -> Path:
    """Return the folder for the results of a run, a bundle or a checkpoint."""
    if is_run(source):
        return RunFiles(source).evaluation
    return source.with_suffix(".evaluation")


def check_folder(folder: Path) -> None:
    """Refuse a file where a folder for results is needed."""
    if folder.exists() and not folder.is_dir():
        raise SoloError(
            f"{folder}: a file. Expected a directory for the results: choose another --out."
        )
