"""Names of all files in a run directory. No other module spells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from solo_doi.common.lock import LOCK_FILE
from solo_doi.common.metrics_log import EVENTS_FOLDER, METRICS_FILE

POLICY_SUFFIX = ".policy.h5"
CHECKPOINT_SUFFIX = ".pt"
"""Files of torch: kept states of a run, and checkpoints of solo-pretrain."""
EVALUATION_METRICS_FILE = "metrics.json"
"""Results of solo-eval, in any folder that it writes to."""
EVALUATION_REPORT_FILE = "report.html"
"""Page of solo-eval, beside its results."""


@dataclass(frozen=True)
class RunFiles:
    """Paths of the files of one run."""

    folder: Path

    @property
    def config(self) -> Path:
        """Resolved configuration; a directory that has it is a run."""
        return self.folder / "config.yaml"

    @property
    def provenance(self) -> Path:
        """Fingerprints of the data, versions of the software."""
        return self.folder / "provenance.json"

    @property
    def lock(self) -> Path:
        """Lock of the process that trains the run."""
        return self.folder / LOCK_FILE

    @property
    def metrics(self) -> Path:
        """Metrics of every outer step, one JSON object per line."""
        return self.folder / METRICS_FILE

    @property
    def events(self) -> Path:
        """Folder of the same metrics as TensorBoard events."""
        return self.folder / EVENTS_FOLDER

    def stage(self, name: str) -> Path:
        """Folder of the loss curves of a stage that is not an outer step."""
        return self.folder / "updates" / name

    @property
    def recovered_expert(self) -> Path:
        """Classifier logits and log ratios of the expert, needed to continue."""
        return self.folder / "expert.pt"

    @property
    def state(self) -> Path:
        """Last saved state, to continue from."""
        return self.folder / "state.pt"

    @property
    def ratios(self) -> Path:
        """Log ratios of the expert and of every skill over all transitions."""
        return self.folder / "ratios.h5"

    @property
    def expert(self) -> Path:
        """Policy of the expert as SMODICE recovers it."""
        return self.folder / "expert.h5"

    @property
    def policy(self) -> Path:
        """Policy of all skills."""
        return self.folder / "policy.h5"

    @property
    def summary(self) -> Path:
        """Results of training; written last, so a run that has it is finished."""
        return self.folder / "summary.json"

    @property
    def evaluation(self) -> Path:
        """Folder that solo-eval writes to by default."""
        return self.folder / "evaluation"

    @property
    def evaluation_metrics(self) -> Path:
        """Results of solo-eval."""
        return self.evaluation / EVALUATION_METRICS_FILE

    @property
    def evaluation_report(self) -> Path:
        """Page of solo-eval."""
        return self.evaluation / EVALUATION_REPORT_FILE

    @property
    def bundle(self) -> Path:
        """Bundle that solo-export writes by default."""
        return self.folder / "skills.onnx"

    def checkpoint(self, outer: int) -> Path:
        """State that is kept after an outer step, for evaluation over training."""
        return self._checkpoints / f"outer_{outer:04d}{CHECKPOINT_SUFFIX}"

    def checkpoint_policy(self, outer: int) -> Path:
        """Policy that was cloned from a checkpoint; made on demand."""
        return self.checkpoint(outer).with_suffix(POLICY_SUFFIX)

    def checkpoint_steps(self) -> list[int]:
        """Return the outer steps of all checkpoints, also of those with only the policy left."""
        steps = set()
        for path in self._checkpoints.glob("outer_*"):
            number = path.name.partition(".")[0].removeprefix("outer_")
            if number.isdigit():
                steps.add(int(number))
        return sorted(steps)

    @property
    def _checkpoints(self) -> Path:
        return self.folder / "checkpoints"
