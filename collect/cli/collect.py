"""solo-collect: rolls checkpoints out and builds the expert, offline and coverage datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from collect.isaac_setup import ISAAC_NUM_ROBOTS, isaac_config
from collect.recipes import CollectConfig
from solo_doi.common import settings
from solo_doi.common.errors import SoloError, one_line

DERIVED = ("coverage", "demonstrations")
VERBS = {
    "inspect": "Show how large a dataset is and the range of every observation, and draw its trajectories.",
    "verify": "Tell what of a dataset is missing or damaged; the exit code is 1 if anything is.",
    "repair": "Drop trajectories that are missing or damaged, so that the rest of a dataset can be read.",
    "card": "Write a dataset's card, README.md beside its manifest.",
}
"""What looks after one dataset, and what for."""


@dataclass(frozen=True, kw_only=True)
class CollectCommand(CollectConfig):
    """Roll checkpoints out in parallel and build the datasets that `solo-train` reads.

    `solo-collect --task locomotion` makes the paper's datasets from the shipped checkpoints. Killed, the same
    command goes on where it stopped. `solo-collect inspect|verify|repair|card|replay DATASET` look after a
    dataset, `solo-collect merge OUT PART...` puts parts made with --shard together.
    """

    out: Path | None = None
    """Directory of the datasets; datasets/TASK by default."""
    workers: int = 0
    """Processes; 0 takes one per core, in Isaac Gym one. The bytes do not depend on it, but for Isaac Gym's."""
    shard: str = "0/1"
    """Make only a part, such as 3/8 (parts 0 to 7), on this machine; `merge` puts parts together."""
    ray: bool = False
    """Run workers on a Ray cluster instead of on this machine."""
    isaac_python: Path | None = None
    """Python 3.8 that has Isaac Gym, for --sim isaacgym; SOLO_ISAAC_PYTHON by default."""


@dataclass(frozen=True)
class DatasetCommand:
    """Look after one dataset."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Directory of the dataset."""


@dataclass(frozen=True)
class ReplayCommand(DatasetCommand):
    """Simulate a stored trajectory again from its seed and compare."""

    trajectory: int = 0
    """Number of the trajectory in the dataset."""
    isaac_python: Path | None = None
    """Python 3.8 that has Isaac Gym, for datasets that were made in it; SOLO_ISAAC_PYTHON by default."""


@dataclass(frozen=True)
class MergeCommand:
    """Put parts of one collection, made with --shard, together."""

    out: Annotated[Path, tyro.conf.Positional]
    """Directory of the whole."""
    parts: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Directories of the parts."""


def main() -> None:
    """Run the command; errors the user can mend are one line."""
    with one_line("solo-collect", "The same command goes on where it was."):
        verb = sys.argv[1] if len(sys.argv) > 1 else ""
        if verb in VERBS:
            what = VERBS[verb]
            command = tyro.cli(
                DatasetCommand, prog=f"solo-collect {verb}", description=what, args=sys.argv[2:]
            )
            sys.exit(look_after(verb, command.dataset))
        if verb == "replay":
            sys.exit(
                replay_again(tyro.cli(ReplayCommand, prog="solo-collect replay", args=sys.argv[2:]))
            )
        if verb == "merge":
            merge_command = tyro.cli(MergeCommand, prog="solo-collect merge", args=sys.argv[2:])
            merge(merge_command)
        else:
            run(
                settings.from_command_line(
                    CollectCommand, "solo-collect", start=_defaults, switches=("ray",)
                )
            )


def run(command: CollectCommand) -> None:
    """Collect, derive, and show what was made."""
    from collect.collector import collect

    isaac = isaac_config(command.sim, command.isaac_python)
    config = CollectConfig(
        **{field.name: getattr(command, field.name) for field in fields(CollectConfig)}
    )
    out = command.out or Path("datasets") / command.task
    part, parts = _part(command.shard)
    print(f"datasets: {out}")
    if collect(config, out, command.workers, part, parts, command.ray, isaac):
        finish(config, out)
    else:
        print(f"part {part} of {parts} is done; `solo-collect merge` puts parts together")


def finish(config: CollectConfig, out: Path) -> None:
    """Derive what training reads from complete sources, and show all four datasets."""
    from collect import dataset_overview as inspect
    from collect.derived_datasets import make_coverage, make_demonstrations
    from solo_doi.data.dataset import Dataset

    make_coverage(config, out)
    make_demonstrations(config, out)
    console = Console()
    for name in ("expert", "offline", *DERIVED):
        console.print(inspect.table(Dataset(out / name)))
    inspect.picture(Dataset(out / "coverage"), out / inspect.PICTURE_FILE)
    print(f"picture: {out / inspect.PICTURE_FILE}")


def merge(command: MergeCommand) -> None:
    """Link the parts' shards into one place and finish there."""
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


def look_after(verb: str, folder: Path) -> int:
    """Run inspect, verify, repair or card; return the exit code."""
    from collect import dataset_overview as inspect
    from collect.dataset_repair import repair, verify
    from solo_doi.data.dataset import Dataset

    if verb == "verify":
        problems = verify(folder)
        print("\n".join(problems) if problems else f"{folder}: whole")
        return 1 if problems else 0
    if verb == "repair":
        kept, lost = repair(folder)
        print(f"{folder}: kept {kept} trajectories, lost {lost}")
        return 0
    dataset = Dataset(folder)
    if verb == "card":
        print(f"card: {inspect.write_card(dataset)}")
        return 0
    console = Console()
    console.print(inspect.table(dataset))
    console.print(inspect.ranges(dataset))
    if dataset.has("infos/base_position"):
        inspect.picture(dataset, folder / inspect.PICTURE_FILE)
        print(f"picture: {folder / inspect.PICTURE_FILE}")
    return 0


def _defaults(asked: Callable[[str, str], str]) -> CollectCommand:
    """Fill a GPU where there is one: every file starts Isaac Gym anew, so it should hold many trajectories."""
    if asked("sim", "mujoco") == "isaacgym":
        return CollectCommand(shard_trajectories=ISAAC_NUM_ROBOTS)
    return CollectCommand()


def _part(text: str) -> tuple[int, int]:
    try:
        part, parts = (int(number) for number in text.split("/"))
    except ValueError:
        part, parts = -1, 0
    if not 0 <= part < parts:
        raise SoloError(f"--shard {text}: expected PART/PARTS counted from 0, such as 3/8.")
    return part, parts
