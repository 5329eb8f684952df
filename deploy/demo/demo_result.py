"""Findings of the demonstration: the verdict on its skills, and their dry runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.launch.deployment_report import SUMMARY_FILE

from .stage_process import last_line
from .stages import DemoConfig, dry_run_folder, dry_run_name, files_of, output_of


@dataclass(frozen=True)
class DryRun:
    """Summary of the dry run of one skill."""

    skill: int
    folder: Path
    summary: dict[str, Any]
    """Content of summary.json; empty if the run ended without one."""
    last_words: str
    """Last line of its output."""

    @property
    def good(self) -> bool:
        """True if the robot walked without a fault."""
        return bool(self.summary) and not self.summary["problems"]

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table: skill, speed, distance, falls, result, folder."""
        walk = self.summary.get("walk")
        figures = ("", "", "")
        if walk:
            speed = f"{walk['velocity']:.2f} m/s"
            figures = (speed, f"{walk['distance']:.1f} m", str(walk["falls"]))
        problems = self.summary.get("problems", [self.last_words])
        return (str(self.skill), *figures, "; ".join(problems) or "walked", str(self.folder))


@dataclass(frozen=True)
class DemoResult:
    """Artefacts and findings of a demonstration."""

    report: Path
    bundle: Path
    verdict: list[str]
    """Sentences of the report about the skills."""
    walks: list[DryRun]

    @property
    def good(self) -> bool:
        """True if every skill walked in its dry run."""
        return all(walk.good for walk in self.walks)

    def table(self) -> Table:
        """Return the dry runs as a table."""
        table = Table("skill", "speed", "distance", "falls", "result", "folder", title="Dry runs")
        for walk in self.walks:
            table.add_row(*walk.row())
        return table


def read_result(config: DemoConfig, skills: int) -> DemoResult:
    """Read what the stages wrote."""
    from solo_doi.evaluate.report.verdict import verdict

    files = files_of(config)
    metrics = json.loads(files.evaluation_metrics.read_text())
    walks = []
    for skill in range(skills):
        folder = dry_run_folder(config, skill)
        path = folder / SUMMARY_FILE
        summary = json.loads(path.read_text()) if path.is_file() else {}
        last_words = last_line(output_of(config.out, dry_run_name(skill)))
        walks.append(DryRun(skill, folder, summary, last_words))
    commanded = next((walk.summary["commanded"] for walk in walks if walk.summary), 1.0)
    return DemoResult(files.evaluation_report, files.bundle, verdict(metrics, commanded), walks)
