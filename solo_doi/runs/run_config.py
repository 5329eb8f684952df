"""Configuration of a run, and the command that makes one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from solo_doi.algorithm.presets import VERSION_0_1, preset
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.common import settings
from solo_doi.common.errors import UnknownNameError
from solo_doi.tasks import TASKS, is_task, task_type

LOCOMOTION = "locomotion"
"""Task by default."""
GYM = "gym"
"""Task name for data of other robots than Solo12."""
PRINTED = ("skills", "multipliers")
"""Settings that the paper prints for each task."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(TrainConfig):
    """Configuration of a run: its data, and all settings of training."""

    task: str = LOCOMOTION
    """Selects the default data and the default settings: a task of our robot, such as locomotion or
    navigation; of Gymnasium: walker2d, halfcheetah, hopper or ant; or gym for other data of D4RL
    and Minari. The data imply the task: by their manifest or label, or else by their name."""
    data: Path | None = None
    """Coverage data with actions: a dataset directory, a D4RL file or a Minari dataset;
    datasets/TASK/coverage by default."""
    expert: Path | None = None
    """States of the expert. May have fewer terms than the coverage data;
    datasets/TASK/demonstrations by default."""
    terms: Path | None = None
    """File with the names of the columns of data that do not name them: `terms` with their sizes in
    order, `joint_names`, and `expert` with both for data that differ."""
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
      solo-train --objective clusters     SMODICE with k-means, a baseline
      solo-train --preset paper           the printed equations
      solo-train --data walks.hdf5 --expert expert.hdf5 --terms layout.yaml
      solo-train --resume runs/NAME       continue an interrupted run
    """

    preset: Literal["default", "0.1", "paper", "gym-exact"] = "default"
    """Source of the default settings: `default` works on our data, `0.1` was the default of that
    version, `paper` is printed in the paper, `gym-exact` (with Gym data) is for random
    transitions."""
    out: Path | None = None
    """Directory of the run; runs/train-DATE-TIME by default. Must not exist."""
    resume: Path | None = None
    """Run to continue. Its own configuration is used; flags that set other values are ignored."""

    def run_config(self) -> RunConfig:
        """Return the part that is stored with the run."""
        return run_config(self)


def read_run_config(path: Path) -> RunConfig:
    """Read the configuration of a run.

    Runs of version 0.1 lack newer settings. Those get the values that make training behave as 0.1.
    """
    return settings.from_dict(
        RunConfig, settings.load(path), str(path), default=run_config(VERSION_0_1)
    )


def command_defaults(lookup: Callable[[str, str], str]) -> TrainCommand:
    """Return the defaults for the task and preset on the command line.

    `lookup(name, otherwise)` returns a setting from the command line or the configuration file.
    """
    task = lookup("task", "") or implied_task(lookup("data", ""))
    chosen = task_preset(lookup("preset", "default"), task)
    return TrainCommand(**_settings(chosen, TrainConfig), task=task)


def implied_task(data: str) -> str:
    """Return the task of a run without `--task`, from the path of its coverage data.

    Datasets of `solo-collect` and their exports name their task. Other files of D4RL begin with the
    environment's name; it is a folder of Minari's datasets.
    """
    if not data:
        return LOCOMOTION
    # Not needed for --help.
    from solo_doi.data.dataset import is_dataset, is_foreign, labelled_task

    path = Path(data)
    if not is_dataset(path) and not is_foreign(path):
        return LOCOMOTION
    labelled = labelled_task(path)
    if labelled:
        return labelled
    words = {*path.parts, *re.split("[-_]", path.name)[:1]}
    for task in TASKS:
        if task in words and task_type(task).training.doi is None:
            return task
    return GYM


def task_preset(name: str, task: str) -> TrainConfig:
    """Return the settings of a preset for a task, with the changes that the task declares."""
    if task == GYM:
        return preset(name, task)
    if not is_task(task):
        raise UnknownNameError("task", task, (*TASKS, GYM))
    declared = task_type(task).training.doi
    if declared is None:
        return preset(name, task)
    # The paper prints one set of settings for all tasks, except for those in `PRINTED`.
    if name == "paper":
        declared = {key: value for key, value in declared.items() if key in PRINTED}
    return preset(name, task, declared)


def run_config(training: TrainConfig) -> RunConfig:
    """Return the configuration of a run with these settings of training."""
    if isinstance(training, RunConfig):
        return RunConfig(**_settings(training, RunConfig))
    return RunConfig(**_settings(training, TrainConfig))


def _settings(config: TrainConfig, kind: type) -> dict[str, Any]:
    """Return the fields of `kind` that `config` has."""
    return {field.name: getattr(config, field.name) for field in fields(kind)}
