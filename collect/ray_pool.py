"""Shard jobs on a Ray cluster. This machine writes the files, so no shared disk is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.data.manifest import ShardEntry

from .worker import ShardJob, make_arrays, store_shard


@contextmanager
def ray_submit(workers: int) -> Iterator[Callable[[ShardJob, Path], Future[ShardEntry]]]:
    """Connect to the cluster at RAY_ADDRESS, or start one on this machine.

    With 0 workers, there is one per processor.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingPackageError("ray", "--ray", "Run: pip install 'solo-doi[ray]'") from error

    address = os.environ.get("RAY_ADDRESS")
    processors = {}
    if not address:
        processors["num_cpus"] = workers or None
    ray.init(address=address, include_dashboard=False, log_to_driver=False, **processors)
    remote = ray.remote(num_cpus=1)(make_arrays)

    def run(job: ShardJob, path: Path) -> ShardEntry:
        try:
            arrays = ray.get(remote.remote(replace(job, threads=1)))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, SoloError):
                # Ray's own message is the traceback on the other machine.
                raise error.cause from None
            raise
        return store_shard(arrays, path)

    pool = ThreadPoolExecutor(workers or int(ray.cluster_resources()["CPU"]))
    try:
        yield lambda job, path: pool.submit(run, job, path)
    finally:
        pool.shutdown(cancel_futures=True)
        ray.shutdown()
