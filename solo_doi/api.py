"""Public Python API. `import solo_doi` offers these functions; paths may be strings."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solo_doi.algorithm.train_config import TrainConfig
    from solo_doi.data.transitions import Transitions
    from solo_doi.evaluate.eval_config import EvalConfig
    from solo_doi.policies.bundle.reader import Bundle
    from solo_doi.runs.run import Run
    from solo_doi.runs.run_data import RunData
    from solo_doi.sim.simulator import SimConfig, Simulator
    from solo_doi.sim.terrain import Terrain
    from solo_doi.tasks.task import Task, TaskConfig

PathLike = str | os.PathLike[str]
"""A path of a file or directory."""


def load_dataset(path: PathLike, *, max_episode_steps: int | None = None) -> Transitions:
    """Read transitions into memory.

    Args:
        path: Dataset directory of solo-collect, D4RL file (.hdf5) or Minari directory.
        max_episode_steps: Length at which trajectories of a D4RL file without `timeouts` were cut.
    """
    from solo_doi.data.dataset import read_transitions

    return read_transitions(Path(path), max_episode_steps=max_episode_steps)


def train(
    data: PathLike | Transitions | None = None,
    expert: PathLike | Transitions | None = None,
    *,
    out: PathLike | None = None,
    config: TrainConfig | None = None,
    task: str = "locomotion",
    progress: bool = True,
) -> Run:
    """Train skills that imitate the expert in different ways, as solo-train does.

    Args:
        data: Coverage data with actions; datasets/TASK/coverage by default.
        expert: States of the expert; datasets/TASK/demonstrations by default.
        out: Directory of the run, which must not exist; runs/train-DATE-TIME by default.
        config: Settings of training; those of the task by default.
        task: Task of the data, which selects default data and settings.
        progress: Show progress on stderr.

    Returns:
        The finished run, which `evaluate_run` and `export_bundle` accept.

    Raises:
        SoloError: The directory exists, or data and settings do not fit.
    """
    from solo_doi.runs.run_config import run_config, task_preset
    from solo_doi.runs.train_log import TrainLog
    from solo_doi.runs.train_run import default_folder, train_new

    settings = task_preset("default", task) if config is None else config
    full = replace(
        run_config(settings), task=task, data=_path_or_none(data), expert=_path_or_none(expert)
    )
    folder = default_folder() if out is None else Path(out)
    return train_new(full, folder, partial(TrainLog, quiet=not progress), _in_memory(data, expert))


def resume(
    run: PathLike,
    data: PathLike | Transitions | None = None,
    expert: PathLike | Transitions | None = None,
    *,
    progress: bool = True,
) -> Run:
    """Continue a run that was stopped, with its own configuration.

    Args:
        run: Directory of the run.
        data: Coverage data, if the run was trained from data in memory.
        expert: States of the expert, if the run was trained from data in memory.
        progress: Show progress on stderr.

    Raises:
        SoloError: The directory is not a run, another process trains it, or its data differ.
    """
    from solo_doi.runs.train_log import TrainLog
    from solo_doi.runs.train_run import resume_run

    given = None
    if data is not None and expert is not None:
        given = _run_data(data, expert)
    return resume_run(Path(run), partial(TrainLog, quiet=not progress), given)


def load_run(path: PathLike) -> Run:
    """Open a run directory: its configuration, results, metrics and policies.

    Raises:
        SoloError: The directory does not exist, or is not a run.
    """
    from solo_doi.runs.run import load_run as load

    return load(Path(path))


def evaluate_run(
    run: Run | PathLike,
    *,
    out: PathLike | None = None,
    expert: PathLike | None = None,
    config: EvalConfig | None = None,
) -> dict[str, Any]:
    """Roll out the skills of a run or a bundle, as solo-eval does.

    Args:
        run: Run, its directory, or a bundle (.onnx).
        out: Folder of report and figures; the folder `evaluation` in the run by default.
        expert: Checkpoint that returns are measured against; the shipped expert by default.
        config: Settings of the evaluation.

    Returns:
        The content of metrics.json.
    """
    from solo_doi.evaluate.evaluate_run import evaluate_run as evaluate

    return evaluate(
        _run_path(run), out=_path_or_none(out), expert=_path_or_none(expert), config=config
    )


def export_bundle(run: Run | PathLike, out: PathLike | None = None) -> Bundle:
    """Write the skills of a run as one .onnx file, as solo-export does, and load it.

    Args:
        run: Run, its directory, or a DOMiNiC checkpoint (.pt).
        out: File to write; skills.onnx in the run by default.
    """
    from solo_doi.export.export_bundle import export_bundle as export

    return export(_run_path(run), _path_or_none(out))


def load_bundle(path: PathLike = "locomotion", *, trust: PathLike | None = None) -> Bundle:
    """Load and verify a bundle.

    Args:
        path: File (.onnx), or the name of a bundle that comes with the package.
        trust: Public key; a bundle that its holder has not signed is refused.
    """
    from solo_doi.policies.bundle.shipped import load_bundle as load

    return load(Path(path), _path_or_none(trust))


def make_simulator(
    name: str = "mujoco",
    *,
    num_robots: int = 1,
    config: SimConfig | None = None,
    terrain: Terrain | None = None,
) -> Simulator:
    """Make a simulator; use it as a context manager.

    Args:
        name: mujoco, pybullet, isaacgym or warp.
        num_robots: Number of robots, if no `config` is given.
        config: All settings.
        terrain: Ground; flat by default.
    """
    from solo_doi.sim import SimConfig
    from solo_doi.sim import make_simulator as make

    return make(name, config or SimConfig(num_robots=num_robots), terrain)


def make_task(
    simulator: Simulator,
    name: str = "locomotion",
    *,
    seed: int = 0,
    config: TaskConfig | None = None,
) -> Task:
    """Start a task on all robots of a simulator.

    Args:
        simulator: Simulator that the robots live in.
        name: Name of the task.
        seed: Seed of domains, commands, pushes and sensor noise.
        config: Settings of the task.
    """
    import numpy as np

    from solo_doi.tasks import make_task as make

    return make(name, simulator, np.random.default_rng(seed), config)


def _run_path(run: Run | PathLike) -> Path:
    from solo_doi.runs.run import Run

    if isinstance(run, Run):
        return run.path
    return Path(run)


def _path_or_none(value: PathLike | Transitions | None) -> Path | None:
    """Return a path; None for data in memory."""
    if isinstance(value, str | os.PathLike):
        return Path(value)
    return None


def _in_memory(
    data: PathLike | Transitions | None, expert: PathLike | Transitions | None
) -> RunData | None:
    """Return both datasets in memory if one is there already; None if both are to be read."""
    given = [value for value in (data, expert) if value is not None]
    if not given or all(isinstance(value, str | os.PathLike) for value in given):
        return None
    if data is None or expert is None:
        from solo_doi.common.errors import SoloError

        raise SoloError("Data in memory need both `data` and `expert`, found one of them.")
    return _run_data(data, expert)


def _run_data(data: PathLike | Transitions, expert: PathLike | Transitions) -> RunData:
    from solo_doi.runs.run_data import RunData

    return RunData(_transitions(data), _transitions(expert))


def _transitions(value: PathLike | Transitions) -> Transitions:
    if isinstance(value, str | os.PathLike):
        return load_dataset(value)
    return value
