"""solo-collect export: datasets in the formats of other programs."""

from __future__ import annotations

from pathlib import Path

from solo_doi.common.errors import SoloError
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.dataset import Dataset
from solo_doi.data.lerobot_writer import write_lerobot
from solo_doi.data.minari import write_minari


def export(folder: Path, out: Path, kind: str) -> tuple[int, int]:
    """Write a dataset as a new D4RL file, Minari directory or LeRobotDataset.

    Returns:
        Numbers of transitions and trajectories.

    Raises:
        SoloError: The place is taken, or the dataset has no actions.
    """
    if out.exists():
        raise SoloError(f"{out}: exists already. Choose another place.")
    dataset = Dataset(folder)
    data = dataset.transitions()
    task = dataset.manifest.task
    if kind == "d4rl":
        write_d4rl(out, data, task)
    elif kind == "lerobot":
        write_lerobot(out, data, task, dataset.manifest.control_dt)
    else:
        write_minari(out, data, minari_name(out), task)
    return len(data), len(data.starts)


def minari_name(out: Path) -> str:
    """Return the name of a Minari dataset from its directory: NAMESPACE/NAME-vN.

    The namespace is the folder above, unless that is the package's root folder `datasets`.
    """
    above = out.absolute().parent.name
    if above in ("", "datasets"):
        return out.name
    return f"{above}/{out.name}"
