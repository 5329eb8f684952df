"""Configuration of a run, and the command that makes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from solo_doi.algorithm.presets import preset
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common.errors import UnknownNameError

TaskName = Literal["locomotion", "gym"]


@dataclass(frozen=True, kw_only=True)
class RunConfig(TrainConfig):
    """Configuration of a run: its data, and all settings of training."""

    task: TaskName = "locomotion"
    """Selects the default data and the default settings: our robot, or D4RL and Minari data of Gym
    tasks."""
    data: Path | None = None
    """Coverage data with actions: a dataset directory, a D4RL file or a Minari dataset;
    datasets/TASK/coverage by default."""
    expert: Path | None = None
    """States of the expert. May have fewer terms than the coverage data;
    datasets/TASK/demonstrations by default."""
    max_episode_steps: int | None = None
    """Length at which trajectories of D4RL files without `timeouts` were cut [steps]; 1000 for most
    MuJoCo tasks."""


@dataclass(frozen=True, kw_only=True)
class TrainCommand(RunConfig):
    """Learn skills that imitate the expert in different ways, from data alone.

    Examples:
      solo-train                          five locomotion skills with the default eps
      solo-train --eps 4                  skills that may differ more
      solo-train --multipliers fixed:1    SMODICE with skills
      solo-train --objective smodice      the expert alone
      solo-train --preset paper           the printed equations
      solo-train --resume runs/NAME       continue an interrupted run
    """

    preset: Literal["default", "paper"] = "default"
    """Source of the default settings: `default` works on our data, `paper` is printed in the
    paper."""
    out: Path | None = None
    """Directory of the run; runs/train-DATE-TIME by default. Must not exist."""
    resume: Path | None = None
    """Run to continue. Its own configuration is used; flags that set other values are ignored."""

    def run_config(self) -> RunConfig:
        """Return the part that is stored with the run."""
        return run_config(self)


def command_defaults(lookup: Callable[[str, str], str]) -> TrainCommand:
    """Return the defaults for the task and preset on the command line.

    `lookup(name, otherwise)` returns a setting from the command line or the configuration file.
    """
    task = lookup("task", "locomotion")
    if task not in get_args(TaskName):
        raise UnknownNameError("task", task, get_args(TaskName))
    chosen = preset(lookup("preset", "default"), task)
    return TrainCommand(**_settings(chosen, TrainConfig))


def run_config(settings: TrainConfig) -> RunConfig:
    """Return the configuration of a run with these settings of training."""
    if isinstance(settings, RunConfig):
        return RunConfig(**_settings(settings, RunConfig))
    return RunConfig(**_settings(settings, TrainConfig))


def _settings(config: TrainConfig, kind: type) -> dict[str, Any]:
    """Return the fields of `kind` that `config` has."""
    return {field.name: getattr(config, field.name) for field in fields(kind)}
