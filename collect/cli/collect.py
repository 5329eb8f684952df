"""solo-collect: roll checkpoints out and build the expert, offline and coverage datasets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from collect.recipes import DEFAULT_TASK, CollectConfig, default_recipe, task_recipe
from solo_doi.common.command_line import Command, Lookup, Program, Verb
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.settings import part_of
from solo_doi.common.steps import show_next

if TYPE_CHECKING:
    from rich.console import Console

TRAINING_DATASETS = ("coverage", "demonstrations")


@dataclass(frozen=True, kw_only=True)
class CollectCommand(CollectConfig):
    """Roll checkpoints out in parallel and build the datasets that `solo-train` reads.

    The same command continues an interrupted collection.

    Examples:
      solo-collect --task locomotion                  the paper's datasets
      solo-collect --task locomotion --scale 0.01     a small copy
      solo-collect --recipe late --scale 0.25         a quarter, more of late checkpoints
      solo-collect --task navigation                  datasets of obstacle navigation
      solo-collect --task walker2d --expert-policy tqc.zip --expert-mixin 25    D4RL's benchmark
      solo-collect --shard 3/8 --out part3            one of eight parts, for `solo-collect merge`
    """

    out: Path | None = None
    """Directory of the datasets; datasets/TASK by default."""
    recipe: Literal["paper", "late", "random", "medium-replay"] = "paper"
    """Mixture of the checkpoints. paper: half of the trajectories are from a nearly random policy.
    late: six times as many trajectories of the last two checkpoints, for small data. Gym tasks have
    random: a random policy; and medium-replay: the data of --replay-data."""
    workers: int = 0
    """Number of processes; 0: one per core, a single one for Isaac Gym. Datasets do not depend on
    it, except in Isaac Gym."""
    shard: str = "0/1"
    """Part to make on this machine, such as 3/8 (parts 0 to 7). Combine parts with `merge`."""
    ray: bool = False
    """Run workers on a Ray cluster instead of on this machine."""
    isaac_python: Path | None = None
    """Python 3.8 with Isaac Gym, for --sim isaacgym; SOLO_ISAAC_PYTHON by default."""


@dataclass(frozen=True)
class DatasetCommand:
    """Argument of all commands that read one dataset."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Directory of the dataset."""


@dataclass(frozen=True)
class InspectCommand(DatasetCommand):
    """Show the size of a dataset and the range of every observation; draw its trajectories.

    Example: solo-collect inspect datasets/locomotion/offline
    """


@dataclass(frozen=True)
class VerifyCommand(DatasetCommand):
    """List missing or damaged parts of a dataset. The exit code is 1 if there are any.

    Example: solo-collect verify datasets/locomotion/offline
    """


@dataclass(frozen=True)
class RepairCommand(DatasetCommand):
    """Drop missing or damaged trajectories, so that the rest of a dataset can be read.

    Example: solo-collect repair datasets/locomotion/offline
    """


@dataclass(frozen=True)
class CardCommand(DatasetCommand):
    """Write a dataset's card: README.md beside its manifest.

    Example: solo-collect card datasets/locomotion/offline
    """


@dataclass(frozen=True)
class ReplayCommand(DatasetCommand):
    """Simulate a stored trajectory again from its seed, and print the differences.

    Example: solo-collect replay datasets/locomotion/offline --trajectory 7
    """

    trajectory: int = 0
    """Number of the trajectory in the dataset."""
    isaac_python: Path | None = None
    """Python 3.8 with Isaac Gym, for datasets made in it; SOLO_ISAAC_PYTHON by default."""


@dataclass(frozen=True)
class ExportDataCommand(DatasetCommand):
    """Write a dataset with actions for other programs, with the names of its columns.

    `solo-train --data OUT` reads it back. d4rl: one HDF5 file. minari: the directory of a dataset
    below the root folder of the minari package, such as ~/.minari/datasets/solo12/coverage-v0.
    lerobot: the directory of a LeRobotDataset (version 3); needs pyarrow, extra `lerobot`.

    Example: solo-collect export datasets/locomotion/coverage coverage.hdf5 --format d4rl
    """

    out: Annotated[Path, tyro.conf.Positional]
    """File or directory to write. Must not exist."""
    format: Literal["d4rl", "minari", "lerobot"] = "d4rl"
    """Format to write."""


@dataclass(frozen=True)
class MergeCommand:
    """Merge the parts of one collection that were made with --shard.

    Example: solo-collect merge datasets/locomotion part0 part1 part2
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Directory of the merged datasets."""
    parts: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Directories of the parts."""


@dataclass(frozen=True)
class FromLogsCommand:
    """Make a dataset of the walks in the logs of deployments, for `solo-train --data`.

    Observations and actions are those of the policy on the robot, velocities are its estimates.
    Every walk with one skill is a trajectory.

    Example: solo-collect from-logs datasets/walked runs/deploy-*
    """

    out: Annotated[Path, tyro.conf.Positional]
    """Directory of the dataset. Must not exist."""
    logs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Directories of deployments or incidents, or their logs."""


def main() -> None:
    """Run solo-collect; errors that the user can correct are one line."""
    with one_line("solo-collect", "Run the same command again to continue."):
        PROGRAM.run()


def run(command: CollectCommand) -> None:
    """Collect the sources; once they are complete, derive the other datasets and print tables."""
    from collect.collector import collect
    from collect.isaac_setup import isaac_config
    from collect.size_check import check_size

    isaac = isaac_config(command.sim, command.isaac_python)
    config = part_of(command, CollectConfig)
    if (command.recipe == "medium-replay") != (command.replay_data is not None):
        raise SoloError(
            f"--recipe {command.recipe} with --replay-data {command.replay_data}: medium-replay, "
            "and no other recipe, needs a D4RL file or a Minari dataset as --replay-data."
        )
    out = command.out or Path("datasets") / command.task
    check_size(config, out)
    part, parts = _part(command.shard)
    print(f"datasets: {out}")
    if collect(config, out, command.workers, part, parts, command.ray, isaac):
        finish(config, out)
    else:
        print(f"part {part} of {parts} is done; combine the parts with `solo-collect merge`")


def finish(config: CollectConfig, out: Path) -> None:
    """Derive the datasets for training from the complete sources; print tables of all four."""
    from collect import dataset_overview
    from collect.dataset_builders import make_coverage, make_demonstrations
    from solo_doi.data.dataset import Dataset

    make_coverage(config, out)
    make_demonstrations(config, out)
    console = _console()
    for name in ("expert", "offline", *TRAINING_DATASETS):
        console.print(dataset_overview.table(Dataset(out / name)))
    picture = out / dataset_overview.OVERVIEW_FILE
    dataset_overview.picture(Dataset(out / "coverage"), picture)
    print(f"picture: {picture}")
    coverage, demonstrations = (out / name for name in TRAINING_DATASETS)
    task = "" if config.task == DEFAULT_TASK else f" --task {config.task}"
    show_next(f"solo-train{task} --data {coverage} --expert {demonstrations}")


def merge(command: MergeCommand) -> None:
    """Link the shards of all parts into one directory, then derive the datasets for training."""
    from collect.merge_parts import merge_parts

    config = merge_parts(command.out, command.parts)
    finish(config, command.out)


def replay_again(command: ReplayCommand) -> int:
    """Print the largest difference of every field; return 0 if there is none."""
    from collect.trajectory_replay import replay

    differences = replay(command.dataset, command.trajectory, command.isaac_python)
    for name, difference in differences.items():
        print(f"{name:24} {difference:g}")
    return 0 if not any(differences.values()) else 1


def show_dataset(command: InspectCommand) -> None:
    """Print the tables of a dataset, and draw its trajectories."""
    from collect import dataset_overview
    from solo_doi.data.dataset import Dataset

    dataset = Dataset(command.dataset)
    console = _console()
    console.print(dataset_overview.table(dataset))
    console.print(dataset_overview.ranges(dataset))
    if dataset.has("infos/base_position"):
        picture = command.dataset / dataset_overview.OVERVIEW_FILE
        dataset_overview.picture(dataset, picture)
        print(f"picture: {picture}")


def verify_dataset(command: VerifyCommand) -> int:
    """Print the problems of a dataset; return 1 if there are any."""
    from collect.dataset_repair import verify

    problems = verify(command.dataset)
    if problems:
        print("\n".join(problems))
        return 1
    print(f"{command.dataset}: whole")
    return 0


def repair_dataset(command: RepairCommand) -> None:
    """Drop damaged trajectories."""
    from collect.dataset_repair import repair

    kept, lost = repair(command.dataset)
    print(f"{command.dataset}: kept {kept} trajectories, lost {lost}")


def write_dataset_card(command: CardCommand) -> None:
    """Write the card of a dataset."""
    from collect.dataset_overview import write_card
    from solo_doi.data.dataset import Dataset

    print(f"card: {write_card(Dataset(command.dataset))}")


def export_dataset(command: ExportDataCommand) -> None:
    """Write a dataset in the format of another program."""
    from collect.exchange.dataset_export import export

    steps, trajectories = export(command.dataset, command.out, command.format)
    print(f"{command.out}: {steps} transitions in {trajectories} trajectories, as {command.format}")
    show_next(f"solo-train --data {command.out} --expert DEMONSTRATIONS")


def collect_logs(command: FromLogsCommand) -> None:
    """Make a dataset of logs and print its table."""
    from collect import dataset_overview
    from collect.exchange.robot_logs import make_from_logs
    from solo_doi.data.dataset import Dataset

    make_from_logs(command.out, command.logs)
    _console().print(dataset_overview.table(Dataset(command.out)))
    print(f"dataset: {command.out}")
    show_next(f"solo-train --data {command.out} --expert DEMONSTRATIONS")


def _defaults(asked: Lookup) -> CollectCommand:
    """Choose the recipe that the task declares.

    On a GPU, put many trajectories into each file: the simulator is started once per file.
    """
    from collect.gpu import GPU_NUM_ROBOTS, GPU_SIMULATORS

    task = asked("task", DEFAULT_TASK)
    name: Any = asked("recipe", "") or default_recipe(task)
    recipe = task_recipe(task, name)
    if asked("sim", "mujoco") in GPU_SIMULATORS:
        return CollectCommand(**recipe, recipe=name, shard_trajectories=GPU_NUM_ROBOTS)
    return CollectCommand(**recipe, recipe=name)


def _part(text: str) -> tuple[int, int]:
    try:
        part, parts = map(int, text.split("/"))
    except ValueError:
        part, parts = -1, 0
    if not 0 <= part < parts:
        raise SoloError(f"--shard {text}: expected PART/PARTS counted from 0, such as 3/8.")
    return part, parts


def _console() -> Console:
    from rich.console import Console  # slow to import, and not needed for --help

    return Console()


def _command(kind: type[Any], function: Callable[[Any], object]) -> Callable[[], Command[Any]]:
    return lambda: Command(kind, function)


PROGRAM = Program(
    "solo-collect",
    lambda: Command(CollectCommand, run, _defaults),
    (
        Verb("inspect", "Show and draw a dataset.", _command(InspectCommand, show_dataset)),
        Verb("verify", "Check that a dataset is whole.", _command(VerifyCommand, verify_dataset)),
        Verb("repair", "Drop damaged trajectories.", _command(RepairCommand, repair_dataset)),
        Verb("card", "Write a dataset's README.md.", _command(CardCommand, write_dataset_card)),
        Verb("replay", "Simulate a trajectory again.", _command(ReplayCommand, replay_again)),
        Verb(
            "export",
            "Write it for other programs.",
            _command(ExportDataCommand, export_dataset),
        ),
        Verb("from-logs", "Make a dataset of robot logs.", _command(FromLogsCommand, collect_logs)),
        Verb("merge", "Combine parts made with --shard.", _command(MergeCommand, merge)),
    ),
)
