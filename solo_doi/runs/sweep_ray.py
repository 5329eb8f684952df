"""Runs of a sweep on a Ray cluster whose nodes share a disk.

A task trains one run, in a separate process. When a node dies, Ray starts its tasks elsewhere:
each continues from the run's last saved state. The lock of a run refuses a second process.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.common.files import reason

from .sweep_job import Job
from .sweep_processes import TrainingProcesses

LOCAL = "local"
"""Address that starts a cluster on this machine."""
CONNECT_SECONDS = 5.0
"""Timeout of a first connection to the cluster [s]."""
MOST_RESTARTS = 20
"""Deaths of nodes that one run survives. Runs that fail by themselves are not repeated."""
MARK_FILE = ".sweep"
"""File in the sweep's folder by which a node sees that it shares the disk."""


def train_here(job: Job, folder: str) -> str | None:
    """Train a job on this node, in the folder where the sweep was started.

    Raises:
        SoloError: The node does not share the disk.
    """
    if not (Path(folder) / job.run.parent / MARK_FILE).is_file():
        raise SoloError(
            f"{socket.gethostname()}: does not see {Path(folder) / job.run.parent}. --ray needs "
            "data and --out on a disk that all nodes share, at the same path."
        )
    os.chdir(folder)  # settings name the data by relative paths
    return TrainingProcesses().run(job)


class RayTrainer:
    """Trains jobs on a cluster; a thread waits for each."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401  # Ray has no types
        """Use a connected Ray; as many jobs at a time as there are processors."""
        self._ray = ray
        self._remote = ray.remote(num_cpus=1, max_retries=MOST_RESTARTS)(train_here)
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ended = False

    def run(self, job: Job) -> str | None:
        """Train a job if it is not finished; return the reason of a failure."""
        if job.finished:
            return None
        if self._ended:
            return "ended with the sweep"
        try:
            failure: str | None = self._ray.get(self._remote.remote(job, str(Path.cwd())))
        except self._ray.exceptions.RayTaskError as error:
            return str(error.cause) if isinstance(error.cause, SoloError) else str(error)
        except self._ray.exceptions.RayError as error:
            return f"Ray: {error}".partition("\n")[0]
        return failure

    def end(self) -> None:
        """End all running jobs, and start no other."""
        self._ended = True
        if self._ray.is_initialized():
            self._ray.shutdown()  # ends the tasks of this sweep; their trainings end with them


@contextmanager
def ray_trainer(address: str, out: Path) -> Iterator[RayTrainer]:
    """Connect to a cluster.

    Raises:
        MissingPackageError: Ray is not installed.
        SoloError: There is no cluster at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError("ray", "--ray", "Run: pip install 'solo-doi[ray]'") from error
    _check_reachable(address)
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SoloError(
            f"--ray {address}: no cluster ({reason(error)}). Start one with `ray start`."
        ) from error
    mark = out / MARK_FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        mark.touch()
        yield RayTrainer(ray)
    finally:
        mark.unlink(missing_ok=True)
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address at which nothing answers; Ray itself would try for minutes.

    Raises:
        SoloError: The address is of the form HOST:PORT, and cannot be connected to.
    """
    host, _, port = address.rpartition(":")
    if "/" in address or not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SoloError(
            f"--ray {address}: nothing answers there ({reason(error)}). Start a cluster with "
            "`ray start --head`, which prints its address."
        ) from error
