"""The demonstration: run what is not done yet, then say what was found."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from solo_doi.common.errors import SoloError
from solo_doi.common.lock import exclusive
from solo_doi.common.provenance import software
from solo_doi.policies.bundle.reader import Bundle

from .demo_result import DemoResult, read_result
from .stage_process import last_line, run_stage
from .stage_record import StageEntry, StageRecord
from .stage_view import StageView
from .stages import (
    DemoConfig,
    DemoStage,
    dry_run,
    files_of,
    output_of,
    stage_key,
    training_stages,
)


def run_demo(config: DemoConfig) -> DemoResult:
    """Run all stages, or those that are not done yet; return what they found.

    Raises:
        SoloError: The folder is used by another process or has other files, or a stage failed.
    """
    with exclusive(config.out, "Wait until it has ended, or choose another --out."):
        record = StageRecord(config.out)
        stages = training_stages(config)
        view = StageView({stage.name: stage.title for stage in stages})
        run = DemoRun(config.out, record, view)
        with view:
            for stage in stages:
                run.make(stage)
            skills = Bundle(files_of(config).bundle).num_skills
            walks = [dry_run(config, skill) for skill in range(skills)]
            view.titles |= {stage.name: stage.title for stage in walks}
            for stage in walks:
                run.make(stage)
        return read_result(config, len(walks))


class DemoRun:
    """Stages of one demonstration, with their keys so far."""

    def __init__(self, folder: Path, record: StageRecord, view: StageView) -> None:
        """Use the folder for the stages' outputs."""
        self._folder = folder
        self._record = record
        self._view = view
        self._keys: dict[str, str] = {}
        self._software = software()

    def make(self, stage: DemoStage) -> None:
        """Reuse a stage's artefact if it is still valid; otherwise make or continue it."""
        key = stage_key(stage, self._keys.get(stage.after or "", ""), self._software)
        self._keys[stage.name] = key
        entry = self._record.entry(stage.name, key)
        if entry is not None and entry.finished and stage.artefact.exists():
            self._view.end(stage.name, f"reused, it took {entry.seconds:.0f} s")
            return
        interrupted = entry is not None and not entry.finished
        if interrupted and stage.can_resume:
            stage = stage.continued()
        else:
            _remove(stage.artefact)
        self._record.put(stage.name, StageEntry(key, finished=False))
        self._run(stage, key)

    def _run(self, stage: DemoStage, key: str) -> None:
        output = output_of(self._folder, stage.name)
        begun = time.monotonic()
        self._view.begin(stage.name, stage.line)
        code = run_stage(stage, output, lambda text: self._view.progress(stage.name, text))
        seconds = time.monotonic() - begun
        if code == 0:
            self._record.put(stage.name, StageEntry(key, finished=True, seconds=seconds))
            self._view.end(stage.name, f"{seconds:.0f} s")
            return
        self._view.end(stage.name, f"failed after {seconds:.0f} s")
        if not stage.optional:
            raise SoloError(
                f"`{stage.line}` ended with exit code {code}: {last_line(output)}. Its output is "
                f"in {output}. Run the same command again to continue."
            )


def _remove(artefact: Path) -> None:
    """Remove a file or folder of an earlier demonstration."""
    if artefact.is_dir():
        shutil.rmtree(artefact)
    else:
        artefact.unlink(missing_ok=True)
