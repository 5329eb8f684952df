"""solo-pretrain: train DOMiNiC checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.dominic.pretrain_config import PretrainConfig, for_task
from collect.dominic.pretrain_files import PretrainFiles
from solo_doi.common import settings
from solo_doi.common.command_line import Command, Lookup, Program, Verb
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.common.lock import check_absent, exclusive, new_directory
from solo_doi.common.settings import part_of
from solo_doi.common.steps import show_next
from solo_doi.tasks import task_type

if TYPE_CHECKING:
    from collect.dominic.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class PretrainCommand(PretrainConfig):
    """Train an expert of a task, or skills that solve it in different ways.

    Examples:
      solo-pretrain --task locomotion            train the expert that walks forward
      solo-pretrain --task navigation            train skills that pass a box by different routes
      solo-pretrain --config pretrain/skills     train the five skills
      solo-pretrain --resume runs/NAME           continue an interrupted run
    """

    out: Path | None = None
    """Directory of the run; runs/pretrain-DATE-TIME by default. Must not exist."""
    resume: Path | None = None
    """Run to continue; its own configuration is used and flags that set others are ignored."""
    start: Path | None = None
    """Run whose weights training starts from, to learn further with another configuration; or a
    checkpoint of one skill, also of another task, such as the shipped locomotion/expert.pt."""
    isaac_python: Path | None = None
    """Python 3.8 that has Isaac Gym, for --sim isaacgym; SOLO_ISAAC_PYTHON by default."""


def main() -> None:
    """Run solo-pretrain; errors that the user can correct are one line."""
    with one_line("solo-pretrain", "Continue with --resume RUN."):
        PROGRAM.run()


def pretrain(command: PretrainCommand) -> Path:
    """Train in a new run directory, or continue a run; return the directory."""
    # Heavy imports come after the flags are checked.
    from collect.dominic.pretrain_size import check_pretrain_size
    from collect.dominic.trainer import Trainer
    from collect.isaac_setup import isaac_config

    if command.resume is not None:
        run = command.resume
        path = PretrainFiles(run).config
        if not path.is_file():
            raise SoloError(f"{run}: not a run of solo-pretrain, it has no {path.name}.")
        with exclusive(run, "Wait until it has ended, then continue with --resume."):
            config = read_config(path)
            trainer = Trainer(config, run, isaac_config(config.sim, command.isaac_python))
            _train(trainer, command)
        return run
    run = command.out or Path("runs") / f"pretrain-{datetime.now():%Y%m%d-%H%M%S}"
    check_absent(run)
    config = part_of(command, for_task(PretrainConfig, command.task))
    check_pretrain_size(config)
    trainer = Trainer(config, run, isaac_config(config.sim, command.isaac_python))
    with new_directory(run):
        _train(trainer, command)
    return run


def _train(trainer: Trainer, command: PretrainCommand) -> None:
    """Train all iterations that are left. The caller holds the lock of the directory."""
    from collect.dominic.pretrain_record import write_record
    from collect.dominic.run_log import RunLog

    run = trainer.run
    files = PretrainFiles(run)
    config = trainer.config
    print(f"run: {run}", flush=True)
    with trainer.task.simulator:
        if command.resume is not None and files.state.is_file():
            trainer.resume()
        elif command.start is not None:
            trainer.start_from(_found_start(command.start))
            # If the run stops before its first save, --resume must not begin with random weights.
            trainer.save()
        write_text(files.config, settings.to_yaml(config))
        write_record(run, trainer.task.simulator)
        with RunLog(run, config.iterations, config.num_skills, first=trainer.iteration) as log:
            trainer.train(log)
    print(f"checkpoints: {files.checkpoints}")
    show_next(f"solo-collect --task {config.task} --checkpoints {files.checkpoints}")


def read_config(path: Path) -> PretrainConfig:
    """Read the configuration of a run, with the episode settings of its task."""
    task = str(settings.load(path).get("task", PretrainConfig.task))
    return settings.read(for_task(PretrainConfig, task), path)


def _found_start(start: Path) -> Path:
    """Return the path of a run or checkpoint; shipped checkpoints are found without a folder."""
    from collect.shipped_checkpoints import FOLDER

    shipped = FOLDER / start
    if not start.exists() and shipped.is_file():
        return shipped
    return start


def _defaults(asked: Lookup) -> PretrainCommand:
    """Choose the settings that the task declares; on a GPU, enough robots to fill it."""
    from collect.gpu import GPU_NUM_ROBOTS, GPU_SIMULATORS

    task = asked("task", PretrainConfig.task)
    kind = for_task(PretrainCommand, task)
    defaults = kind()
    shipped = task_type(task).training.pretrain
    if shipped:
        defaults = settings.from_dict(kind, settings.load(Path(shipped)), shipped, defaults)
    if asked("sim", "mujoco") in GPU_SIMULATORS:
        return replace(defaults, num_robots=GPU_NUM_ROBOTS)
    return defaults


def _kind(asked: Lookup) -> type[PretrainCommand]:
    return for_task(PretrainCommand, asked("task", PretrainConfig.task))


def _pretrain() -> Command[PretrainCommand]:
    return Command(PretrainCommand, pretrain, _defaults, _kind)


def _evaluate() -> Command[Any]:
    from collect.dominic.measure_checkpoint import EvaluateCommand, evaluate

    return Command(EvaluateCommand, evaluate)


PROGRAM = Program(
    "solo-pretrain",
    _pretrain,
    (Verb("evaluate", "Measure how well checkpoints walk.", _evaluate),),
)
