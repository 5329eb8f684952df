"""Sweeps and collections on a Ray cluster: nodes on the loopback interface, one of them killed."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from collect.collector import collect
from solo_doi.common import provenance
from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.runs.sweep import sweep
from solo_doi.runs.sweep_command import SweepCommand
from solo_doi.runs.sweep_ray import MARK_FILE, train_here
from tests.algorithm.runs import write_made_up_task
from tests.cli.sweeps import SETTINGS, runs
from tests.collect.recipes import UNKNOWN_COMMIT, fingerprint, write_checkpoints
from tests.collect.recipes import tiny as small_recipe
from tests.sizes import FULL_VARIABLE

ray: Any = pytest.importorskip("ray", reason="ray is not installed: pip install 'solo-doi[ray]'")
needs_time = pytest.mark.skipif(
    not os.environ.get(FULL_VARIABLE), reason="clusters of three nodes take a minute: .ci/full"
)
KILL_AFTER = "metrics.jsonl"
"""File of a run that exists once its first step is done."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working directory with data, as on a shared disk."""
    write_made_up_task(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return tmp_path


def command(out: str, seeds: int, **options: Any) -> SweepCommand:
    """Return a sweep of tiny runs."""
    Path("variants.yaml").write_text(yaml.safe_dump({"tiny": SETTINGS | options}))
    return SweepCommand(
        variants=Path("variants.yaml"), eps=(1.0,), seeds=tuple(range(seeds)), out=Path(out)
    )


def on_cluster(plain: SweepCommand, address: str, out: str) -> SweepCommand:
    """Return the same sweep on a cluster."""
    return SweepCommand(**{**vars(plain), "ray": address, "out": Path(out)})


def results(out: Path) -> dict[str, bytes]:
    """Return the bytes of all tables and policies."""
    found = {}
    for pattern in ("table.csv", "*/policy.h5", "*/ratios.h5"):
        for path in out.glob(pattern):
            found[str(path.relative_to(out))] = path.read_bytes()
    return found


def test_a_cluster_gives_the_same_bytes_and_repeats_nothing(here: Path) -> None:
    plain = command("here", 1)
    lines: list[str] = []
    sweep(plain, lines.append)
    sweep(on_cluster(plain, "local", "there"), lines.append)
    assert [line.rpartition(": ")[2] for line in lines] == ["done"] * 2
    assert results(here / "there") == results(here / "here")
    assert not (here / "there" / MARK_FILE).exists()

    before = {path: path.stat().st_mtime_ns for path in here.glob("there/*/policy.h5")}
    sweep(on_cluster(plain, "local", "there"), lambda line: None)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_errors_are_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster, a node without the disk, no package."""
    plain = command("out", 1)
    with pytest.raises(SoloError, match=r"--ray 127.0.0.1:1: nothing answers"):
        sweep(on_cluster(plain, "127.0.0.1:1", "out"), lambda line: None)
    from solo_doi.runs.sweep_job import Job

    with pytest.raises(SoloError, match="on a disk that all nodes share"):
        train_here(Job("tiny", {}, Path("elsewhere/run")), str(here))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"solo-doi\[ray\]"):
        sweep(on_cluster(plain, "local", "out"), lambda line: None)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without processors and two worker nodes on the loopback interface."""
    from ray.cluster_utils import Cluster

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def kill_a_node_once(cluster: Any, happened: Any) -> threading.Thread:
    """Kill a worker node as soon as something has happened; the other one goes on alone."""

    def kill() -> None:
        deadline = time.monotonic() + 600
        while not happened():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        victim = sorted(cluster.worker_nodes, key=str)[0]
        cluster.remove_node(victim, allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@needs_time
def test_a_sweep_survives_the_death_of_a_node(here: Path, cluster: Any) -> None:
    """Runs on it go on elsewhere from their last saved state; results are those of one machine."""
    plain = command("here", 4, outer=6)
    sweep(plain, lambda line: None)
    killer = kill_a_node_once(cluster, lambda: any(here.glob(f"there/*/{KILL_AFTER}")))
    lines: list[str] = []
    sweep(on_cluster(plain, cluster.address, "there"), lines.append)
    killer.join()
    assert len(lines) == len(runs(here / "there")) == 4
    assert all(line.endswith("done") for line in lines)
    assert results(here / "there") == results(here / "here")


@needs_time
def test_a_collection_survives_the_death_of_a_node(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)  # a commit meanwhile would change manifests
    monkeypatch.setattr(provenance, "commit", lambda: UNKNOWN_COMMIT)
    config = small_recipe(write_checkpoints(tmp_path / "checkpoints"))
    assert collect(config, tmp_path / "here", 1)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    there = tmp_path / "there"
    killer = kill_a_node_once(cluster, lambda: any(there.glob("*/shard-*.h5")))
    assert collect(config, there, 2, ray=True)
    killer.join()
    assert fingerprint(there) == fingerprint(tmp_path / "here")
