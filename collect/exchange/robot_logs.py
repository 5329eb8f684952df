"""solo-collect from-logs: logs of deployments as a dataset, so that training can use them."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from collect.collector import planned_manifest
from collect.dataset_builders import replaced_folder
from collect.recipes import CollectConfig
from collect.replay_data import replay_arrays
from collect.worker import store_shard
from solo_doi.common.child_python import module_command
from solo_doi.common.errors import SoloError
from solo_doi.data.manifest import Manifest
from solo_doi.data.shard import DataError, checksums, file_hash
from solo_doi.data.transitions import Transitions, named
from solo_doi.tasks import task_type
from solo_doi.tasks.rewards import bell

LOG_READER = "deploy.logs.walk_steps"
"""Module that reads logs, in a separate process: collection imports nothing of deployment."""
LOG_FILE_NAME = "log.lcm"
"""Log in the folder of a deployment."""
SPEED_WIDTH = 0.3
"""Width of the tracking reward [m/s]."""


def make_from_logs(out: Path, logs: Sequence[Path]) -> Manifest:
    """Write the walks of logs as a dataset; every trajectory is one walk with one skill.

    Velocities are the controller's estimates. Base poses and domains are unknown.

    Raises:
        SoloError: The place is taken, or the logs have no walks.
    """
    if out.exists():
        raise SoloError(f"{out}: exists already. Choose another place.")
    steps = read_logs(logs)
    task = str(steps["task"])
    data = transitions_of(steps, task)
    arrays = replay_arrays(data, task)
    groups = (len(data), len(task_type(task).reward_groups))
    arrays["infos/reward_groups"] = np.full(groups, np.nan, dtype=np.float32)
    arrays["episodes/skill"] = steps["skill"].astype(np.int64)
    arrays["episodes/checkpoint"] = steps["log"].astype(np.int64)
    first = data.observations[data.starts]
    command = first[:, task_type(task).layout.slices["command"]]
    arrays["episodes/command"] = command.astype(np.float32)
    arrays["episodes/crc32"] = checksums(
        arrays, arrays["episodes/start"], arrays["episodes/length"]
    )
    with replaced_folder(out) as folder:
        entry = store_shard(arrays, folder / "shard-00000.h5")
        manifest = logs_manifest(task, logs, arrays)
        manifest = dataclasses.replace(manifest, shards=(entry,), complete=True)
        manifest.write(folder)
    return manifest


def read_logs(logs: Sequence[Path]) -> dict[str, np.ndarray]:
    """Return the policy steps of logs.

    Raises:
        SoloError: A log cannot be read; the message is the reader's.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "steps.npz"
        command = module_command(LOG_READER, str(file), *map(str, logs))
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            last = ended.stderr.strip().rpartition("\n")[2]
            raise SoloError(last.partition(": ")[2] or f"{LOG_READER} ended: {last}")
        with np.load(file, allow_pickle=False) as content:
            return dict(content)


def transitions_of(steps: dict[str, np.ndarray], task: str) -> Transitions:
    """Return logged steps as transitions, with the reward of the estimated velocity."""
    declared = task_type(task)
    columns = declared.layout.slices
    if "command" not in columns or "linear_velocity" not in columns:
        raise DataError(f"Task {task}: logs of tasks without velocity commands cannot be read.")
    speed = steps["next_observations"][:, columns["linear_velocity"]][:, 0]
    wanted = steps["observations"][:, columns["command"]][:, 0]
    rows = len(steps["observations"])
    ends = np.append(steps["starts"][1:], rows) - 1
    with named(Path("logs")):
        return Transitions(
            observations=steps["observations"],
            next_observations=steps["next_observations"],
            actions=steps["actions"],
            rewards=bell(wanted - speed, SPEED_WIDTH).astype(np.float32),
            terminals=np.zeros(rows, dtype=bool),
            timeouts=np.isin(np.arange(rows), ends),
            starts=steps["starts"],
            terms=columns,
            joint_names=declared.joint_names,
        )


def logs_manifest(task: str, logs: Sequence[Path], arrays: dict[str, np.ndarray]) -> Manifest:
    """Return the manifest without files: each log is listed as a policy that acted."""
    policies: list[dict[str, Any]] = []
    for number, log in enumerate(logs):
        file = log / LOG_FILE_NAME if log.is_dir() else log
        skills = arrays["episodes/skill"][arrays["episodes/checkpoint"] == number]
        described = {
            "name": file.parent.name,
            "sha256": file_hash(file),
            "skills": int(skills.max(initial=0)) + 1,
            "stochastic": False,
        }
        policies.append(described)
    planned = planned_manifest(CollectConfig(task=task), "logs", tuple(policies))
    origin = {"source": "logs of deployments", "software": planned.origin["software"]}
    return dataclasses.replace(planned, seed=None, origin=origin)
