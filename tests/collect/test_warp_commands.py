"""Commands in MuJoCo Warp on the processor, from end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from collect.cli import collect as cli
from collect.cli import pretrain as pretrain_cli
from collect.dataset_overview import write_card
from collect.trajectory_replay import replay
from solo_doi.data.dataset import Dataset
from solo_doi.sim import WarpConfig

from .dominic.runs import flags

MADE_WITH = {"device": "cpu", "solver": "cg"}


@pytest.fixture(autouse=True)
def processor(warp_cpu: WarpConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the processor as the device of commands."""
    monkeypatch.setenv("SOLO_WARP_DEVICE", warp_cpu.device)


def run(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: str) -> object:
    """Run a command in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    with pytest.raises(SystemExit) as end:
        main()  # type: ignore[operator]
    return end.value.code


def test_collecting_makes_whole_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`solo-collect --sim warp --scale 0.001` collects robots that walk, in domains of their own.

    Manifests have device and solver. A trajectory repeats to the last bit.
    """
    monkeypatch.setenv("SOLO_WARP_SOLVER", "cg")
    arguments = ("--sim", "warp", "--scale", "0.001", "--out", str(tmp_path))
    assert run(monkeypatch, cli.main, "--task", "locomotion", *arguments) == 0
    expert = Dataset(tmp_path / "expert")
    count = expert.manifest.num_trajectories
    assert count == 4
    assert expert.manifest.origin["recipe"]["sim"] == "warp"
    assert expert.manifest.origin["recipe"]["shard_trajectories"] == 4096
    assert expert.manifest.origin["software"]["mujoco-warp"]
    for name in ("expert", "offline", "coverage", "demonstrations"):
        assert Dataset(tmp_path / name).manifest.origin["simulator"] == MADE_WITH
    assert "device cpu, solver cg" in write_card(expert).read_text()
    assert not expert.column("episodes/fallen").any()
    assert len(np.unique(expert.column("episodes/domain/added_mass"))) == count
    rewards = expert.batch(np.arange(count * 250), ("rewards",))["rewards"]
    assert rewards.mean() > 0.8
    monkeypatch.delenv("SOLO_WARP_SOLVER")  # a replay uses the recorded one
    assert max(replay(tmp_path / "expert", 3).values()) == 0.0


def test_pretraining_runs_saves_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`solo-pretrain --sim warp` saves robots as well, since a processor repeats."""
    folder = tmp_path / "run"
    tiny = flags(iterations=2, save_every=1)
    assert run(monkeypatch, pretrain_cli.main, "--sim", "warp", "--out", str(folder), *tiny) == 0
    text = (folder / "config.yaml").read_text()
    assert "sim: warp" in text
    (folder / "config.yaml").write_text(text.replace("iterations: 2", "iterations: 3"))
    assert run(monkeypatch, pretrain_cli.main, "--resume", str(folder)) == 0
    assert (folder / "checkpoints" / "model_3.pt").is_file()
    record = json.loads((folder / "provenance.json").read_text())
    made = {"name": "MuJoCo Warp", "device": "cpu", "solver": "newton", "device_name": "CPU"}
    assert record["simulator"] == record["continued_with"]["simulator"] == made
    numbers = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len(numbers) == 3


def test_a_gpu_is_filled_by_default() -> None:
    """MuJoCo Warp has 4096 robots by default."""

    def asked(name: str, otherwise: str) -> str:
        return "warp" if name == "sim" else otherwise

    assert pretrain_cli._defaults(asked).num_robots == 4096
    assert cli._defaults(asked).shard_trajectories == 4096
