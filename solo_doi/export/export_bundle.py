"""Export of a run or a checkpoint as a bundle."""

from __future__ import annotations

from pathlib import Path

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_files import CHECKPOINT_SUFFIX, RunFiles

from .run_record import read_made_from, read_skill_evaluations
from .training_task import robot_of_run, task_of_checkpoint, task_of_run
from .velocity_commands import recorded_commands
from .writer import write_bundle


def export_bundle(
    source: Path | str, out: Path | str | None = None, *, task: str | None = None
) -> Bundle:
    """Write the skills of a run or a checkpoint as one .onnx file, and load it as a robot would.

    Args:
        source: Run directory of solo-train, or DOMiNiC checkpoint of solo-pretrain (.pt).
        out: File to write; skills.onnx in the run, or NAME.onnx beside NAME.pt, by default.
        task: Task of a checkpoint that has no config.yaml of solo-pretrain. Runs record theirs.

    Returns:
        The bundle, loaded from the written file and verified.

    Raises:
        SoloError: The source cannot be exported: damaged, or not trained for a task of Solo12.
    """
    source = Path(source)
    if source.suffix == CHECKPOINT_SUFFIX:
        path = source.with_suffix(".onnx") if out is None else Path(out)
        _export_checkpoint(source, path, task)
    else:
        if task is not None:
            raise SoloError(
                f"{source}: a run records its task; --task is for checkpoints (.pt) alone."
            )
        path = RunFiles(source).bundle if out is None else Path(out)
        _export_run(source, path)
    return Bundle(path)


def _export_checkpoint(checkpoint: Path, path: Path, stated_task: str | None) -> None:
    from solo_doi.policies.dominic_checkpoint import read_policy  # imports torch

    policy = read_policy(checkpoint)
    task = task_of_checkpoint(checkpoint, stated_task)
    made_from = {"checkpoint": checkpoint.name}
    write_bundle(policy, task, path, made_from, (), recorded_commands(checkpoint))


def _export_run(run: Path, path: Path) -> None:
    if not run.is_dir():
        found = "not a directory" if run.exists() else "no such directory"
        raise SoloError(f"{run}: {found}. Expected a run of solo-train or a .pt checkpoint.")
    policy = SkillPolicy.read(RunFiles(run).policy)
    task = task_of_run(run)
    robot = robot_of_run(run)
    evaluations = read_skill_evaluations(run)
    write_bundle(policy, task, path, read_made_from(run), evaluations, robot=robot)
