"""Reader of a run directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.metrics_log import read_metrics
from solo_doi.common.untrusted import check_no_links, read_bounded
from solo_doi.policies.skill_policy import SkillPolicy

from .provenance import read_provenance
from .run_config import RunConfig, read_run_config
from .run_files import RunFiles


@dataclass(frozen=True)
class Run:
    """A run of training. Files are read when they are first needed."""

    path: Path

    @property
    def files(self) -> RunFiles:
        """Paths of the run's files."""
        return RunFiles(self.path)

    @property
    def finished(self) -> bool:
        """True if training has written its summary, which it writes last."""
        return self.files.summary.is_file()

    @cached_property
    def config(self) -> RunConfig:
        """Resolved configuration."""
        return read_run_config(self.files.config)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Results of training: phi, sigma, distances between skills, warnings.

        Raises:
            SoloError: Training has not finished, or the file is damaged.
        """
        path = self.files.summary
        if not path.is_file():
            raise SoloError(
                f"{self.path}: training has not finished. Continue it with "
                f"`solo-train --resume {self.path}`."
            )
        try:
            return json.loads(read_bounded(path))
        except (ValueError, RecursionError) as error:
            raise SoloError(f"{path}: not valid JSON ({error}). Train the run again.") from error

    @cached_property
    def policy(self) -> SkillPolicy:
        """Policy of all skills."""
        return SkillPolicy.read(self.files.policy)

    @cached_property
    def expert(self) -> SkillPolicy | None:
        """Policy of the expert as SMODICE recovers it; None if the run has none."""
        path = self.files.expert
        if not path.is_file():
            return None
        return SkillPolicy.read(path)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Fingerprints of the data and versions of the software; empty if not recorded."""
        return read_provenance(self.path)

    @property
    def metrics(self) -> list[dict[str, float]]:
        """Metrics of every outer step so far."""
        return read_metrics(self.path)


def load_run(path: str | Path) -> Run:
    """Open a run directory.

    Raises:
        SoloError: The directory does not exist, or is not a run.
    """
    run = Run(Path(path))
    if not run.path.exists():
        raise SoloError(
            f"{path}: no such directory. Expected a run of solo-train, or a bundle (.onnx) of "
            "solo-export."
        )
    files = run.files
    if not files.config.is_file():
        raise SoloError(f"{path}: not a run of solo-train, it has no {files.config.name}.")
    check_no_links(run.path)
    if files.bundle.is_file() and not files.policy.is_file() and not run.finished:
        # A directory of solo-deploy also has a configuration, and a bundle beside it.
        raise SoloError(f"{path}: not a run of solo-train. Name the bundle in it: {files.bundle}")
    return run
