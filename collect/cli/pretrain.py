"""solo-pretrain: train DOMiNiC checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.dominic.pretrain_config import PretrainConfig
from solo_doi.common import settings
from solo_doi.common.command_line import Command, Lookup, Program, Verb
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.common.lock import check_absent, exclusive, new_directory
from solo_doi.common.settings import part_of

if TYPE_CHECKING:
    from collect.dominic.trainer import Trainer

CONFIG_FILE = "config.yaml"


@dataclass(frozen=True, kw_only=True)
class PretrainCommand(PretrainConfig):
    """Train a locomotion expert, or skills that walk in different ways, from nothing.

    Examples:
      solo-pretrain --task locomotion            train the expert that walks forward
      solo-pretrain --config pretrain/skills     train the five skills
      solo-pretrain --resume runs/NAME           continue an interrupted run
    """

    out: Path | None = None
    """Directory of the run; runs/pretrain-DATE-TIME by default. Must not exist."""
    resume: Path | None = None
    """Run to continue; its own configuration is used and flags that set others are ignored."""
    start: Path | None = None
    """Run whose weights training starts from, to learn further with another configuration."""
    isaac_python: Path | None = None
    """Python 3.8 that has Isaac Gym, for --sim isaacgym; SOLO_ISAAC_PYTHON by default."""


def main() -> None:
    """Run solo-pretrain; errors that the user can correct are one line."""
    with one_line("solo-pretrain", "Continue with --resume RUN."):
        PROGRAM.run()


def pretrain(command: PretrainCommand) -> Path:
    """Train in a new run directory, or continue a run; return the directory."""
    # Heavy imports come after the flags are checked.
    from collect.dominic.trainer import Trainer
    from collect.isaac_setup import isaac_config

    if command.resume is not None:
        run = command.resume
        path = run / CONFIG_FILE
        if not path.is_file():
            raise SoloError(f"{run}: not a run of solo-pretrain, it has no {CONFIG_FILE}.")
        with exclusive(run, "Wait until it has ended, then continue with --resume."):
            config = settings.read(PretrainConfig, path)
            trainer = Trainer(config, run, isaac_config(config.sim, command.isaac_python))
            _train(trainer, command)
        return run
    run = command.out or Path("runs") / f"pretrain-{datetime.now():%Y%m%d-%H%M%S}"
    check_absent(run)
    config = part_of(command, PretrainConfig)
    trainer = Trainer(config, run, isaac_config(config.sim, command.isaac_python))
    with new_directory(run):
        _train(trainer, command)
    return run


def _train(trainer: Trainer, command: PretrainCommand) -> None:
    """Train all iterations that are left. The caller holds the lock of the directory."""
    from collect.dominic.run_log import RunLog
    from collect.dominic.trainer import STATE_FILE

    run = trainer.run
    config = trainer.config
    print(f"run: {run}", flush=True)
    with trainer.task.simulator:
        if command.resume is not None and (run / STATE_FILE).is_file():
            trainer.resume()
        elif command.start is not None:
            trainer.start_from(command.start)
            # If the run stops before its first save, --resume must not begin with random weights.
            trainer.save()
        write_text(run / CONFIG_FILE, settings.to_yaml(config))
        with RunLog(run, config.iterations, config.num_skills, first=trainer.iteration) as log:
            trainer.train(log)
    print(f"checkpoints: {run / 'checkpoints'}")


def _defaults(asked: Lookup) -> PretrainCommand:
    """Choose as many robots as fill a GPU for Isaac Gym."""
    from collect.isaac_setup import ISAAC_NUM_ROBOTS

    if asked("sim", "mujoco") == "isaacgym":
        return PretrainCommand(num_robots=ISAAC_NUM_ROBOTS)
    return PretrainCommand()


def _pretrain() -> Command[PretrainCommand]:
    return Command(PretrainCommand, pretrain, _defaults)


def _evaluate() -> Command[Any]:
    from collect.dominic.measure_checkpoint import EvaluateCommand, evaluate

    return Command(EvaluateCommand, evaluate)


PROGRAM = Program(
    "solo-pretrain",
    _pretrain,
    (Verb("evaluate", "Measure how well checkpoints walk.", _evaluate),),
)
