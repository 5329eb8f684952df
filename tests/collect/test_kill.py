"""Kills at any moment: the next attempt continues and gives the same bytes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np
import pytest

from collect.cli.collect import main
from collect.recipes import CollectConfig
from solo_doi.common import provenance, settings
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import MANIFEST_FILE, Manifest
from tests.command import run_silently
from tests.sizes import size

from .recipes import DATASETS, UNKNOWN_COMMIT, collect_here, fingerprint, tiny

KILLS = size(in_ci=8, in_full=20)
PATIENCE = 60.0
Start = Callable[[CollectConfig, Path], ForkServerProcess]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the command in a process forked from one with all imports done."""
    monkeypatch.setenv(
        "PYTHONWARNINGS", "ignore:resource_tracker"
    )  # it finds what killed processes left
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "collect.collector", "matplotlib.pyplot"])
    warm_up = context.Process(target=bool)
    warm_up.start()
    warm_up.join()

    def start(config: CollectConfig, out: Path) -> ForkServerProcess:
        settings.write(config, tmp_path / "recipe.yaml")
        arguments = ["--config", str(tmp_path / "recipe.yaml"), "--out", str(out), "--workers", "1"]
        process = context.Process(target=collect_without_commit, args=(arguments, tmp_path))
        process.start()
        return process

    return start


def collect_without_commit(arguments: list[str], folder: Path) -> None:
    """Run the command in a child process, whose manifests must not name a commit.

    The fork server may have been started by another test, with another environment.
    """
    provenance.commit = lambda: UNKNOWN_COMMIT
    run_silently("solo-collect", main, arguments, folder)


def ended(process: ForkServerProcess, delay: float) -> bool:
    """Return True if a process ends by itself within a delay.

    If not, that process alone gets `kill -9`.
    """
    process.join(delay)
    if process.exitcode is None:
        process.kill()
        process.join()
        return False
    assert process.exitcode == 0
    return True


def test_kills_at_random_moments_lose_nothing_and_double_nothing(
    checkpoints: Path, tmp_path: Path, start: Start
) -> None:
    """Kills, spread over collections of 14 shards, do not change the resulting bytes."""
    config, out = (
        tiny(checkpoints, expert=8, offline=20, steps=2, shard_trajectories=2),
        tmp_path / "out",
    )
    expected = fingerprint(collect_here(config, tmp_path / "unbroken"))
    began = time.monotonic()
    assert ended(start(config, out), PATIENCE)
    duration, rng, kills = time.monotonic() - began, np.random.default_rng(0), 0
    while kills < KILLS or out.exists():
        if ended(
            start(config, out), rng.uniform(0.0, 0.6 * duration) if kills < KILLS else PATIENCE
        ):
            assert fingerprint(out) == expected
            shutil.rmtree(out)
        else:
            kills += 1
            for name in DATASETS:  # what a manifest names is whole, at any moment
                if (out / name / MANIFEST_FILE).exists() and Manifest.read(out / name).shards:
                    assert np.isfinite(Dataset(out / name).column("observations")).all()


def children(process: ForkServerProcess) -> list[int]:
    """Return the worker processes of a collection."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [
        int(child)
        for child in found
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, with a time limit."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_workers_leave_with_the_process_that_started_them(
    checkpoints: Path, tmp_path: Path, start: Start
) -> None:
    """Orphaned workers would continue to write files that the next attempt also writes."""
    out = tmp_path / "out"
    process = start(tiny(checkpoints, expert=4000, steps=50), out)
    wait_until(lambda: bool(list(out.glob("expert/shard-*.h5"))))
    workers = children(process)
    assert workers
    assert not ended(process, 0.0)
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_killed_worker_ends_the_command_and_keeps_what_was_made(
    checkpoints: Path, tmp_path: Path, start: Start
) -> None:
    """The worker is killed as by the system when memory runs out.

    The command ends with exit code 1 and does not wait for the missing shard.
    """
    out = tmp_path / "out"
    process = start(tiny(checkpoints, expert=4000, steps=50), out)
    wait_until(lambda: bool(list(out.glob("expert/shard-*.h5"))))
    for worker in children(process):
        os.kill(worker, signal.SIGKILL)
    process.join(PATIENCE)
    assert process.exitcode == 1
    assert len(Dataset(out / "expert"))
