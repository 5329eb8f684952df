"""Section of a report about the training of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo_doi.common.metrics_log import read_metrics
from solo_doi.common.untrusted import open_hdf5
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RATIOS_OF_SKILLS

from .report import figures
from .report.html_report import Report


def add_training(
    report: Report, run: Path, trained: RunConfig, metrics: dict[str, Any], out: Path
) -> None:
    """Add figures of multipliers, divergences and ratios, and the warnings of training."""
    lines = read_metrics(run)
    if lines:
        constrained = trained.fixed_sigma is None and trained.alpha is None
        eps = trained.eps if constrained else None
        path = figures.over_training(lines, trained.skills, eps, out / "training")
        shown = "divergence from the expert"
        if constrained:
            shown = "violation of the constraint (below 0: within the bound)"
        report.figure(path, f"Multipliers, {shown} and distance of the ratios over training.")
    ratios = RunFiles(run).ratios
    if ratios.is_file():
        with open_hdf5(ratios) as file:
            path = figures.ratios(file[RATIOS_OF_SKILLS][:], out / "ratios")
        report.figure(path, "Weight of every transition of the data in each skill.")
    if "history" in metrics:
        path = figures.history(metrics["history"], out / "history")
        report.figure(path, "Policies cloned at the run's checkpoints.")
    for warning in metrics.get("warnings", []):
        report.text(f"Warning from training: {warning}")
