"""Commands in Isaac Gym's double, from end to end, and the self-test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from collect import isaac_selftest
from collect.cli import collect as cli
from collect.cli import pretrain as pretrain_cli
from collect.gpu import GPU_NUM_ROBOTS
from collect.isaac_setup import isaac_config
from collect.trajectory_replay import replay
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import Dataset
from solo_doi.sim import IsaacConfig

from .dominic.runs import flags


@pytest.fixture(autouse=True)
def isaac_python(isaac_double: IsaacConfig, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the double as Isaac Gym's Python in the environment."""
    monkeypatch.setenv("SOLO_ISAAC_PYTHON", str(isaac_double.python))
    return isaac_double.python


def run(monkeypatch: pytest.MonkeyPatch, main: object, *arguments: str) -> object:
    """Run a command in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    with pytest.raises(SystemExit) as end:
        main()  # type: ignore[operator]
    return end.value.code


def test_collecting_makes_whole_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`solo-collect --task locomotion --sim isaacgym --scale 0.005` collects 20 trajectories each.

    The robots walk.
    """
    code = run(
        monkeypatch,
        cli.main,
        "--task",
        "locomotion",
        "--sim",
        "isaacgym",
        "--scale",
        "0.005",
        "--out",
        str(tmp_path),
    )
    assert code == 0
    expert, coverage = Dataset(tmp_path / "expert"), Dataset(tmp_path / "coverage")
    assert expert.manifest.num_trajectories == 20
    assert coverage.manifest.num_trajectories == 21
    assert expert.manifest.origin["recipe"]["sim"] == "isaacgym"
    assert expert.manifest.origin["recipe"]["shard_trajectories"] == GPU_NUM_ROBOTS
    assert not expert.column("episodes/fallen").any()
    assert len(np.unique(expert.column("episodes/domain/added_mass"))) == 20
    rewards = expert.batch(np.arange(20 * 250), ("rewards",))["rewards"]
    assert rewards.mean() > 0.8
    assert (
        max(replay(tmp_path / "expert", 3).values()) < 1e-3
    )  # the double repeats exactly, a GPU need not


def test_pretraining_runs_saves_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`solo-pretrain --sim isaacgym` saves weights but not the robots' states; episodes restart."""
    folder = tmp_path / "run"
    code = run(
        monkeypatch,
        pretrain_cli.main,
        "--sim",
        "isaacgym",
        "--out",
        str(folder),
        *flags(iterations=2, save_every=1),
    )
    assert code == 0
    assert (folder / "checkpoints" / "model_2.pt").is_file()
    text = (folder / "config.yaml").read_text()
    assert "sim: isaacgym" in text
    (folder / "config.yaml").write_text(text.replace("iterations: 2", "iterations: 3"))
    assert run(monkeypatch, pretrain_cli.main, "--resume", str(folder)) == 0
    assert (folder / "checkpoints" / "model_3.pt").is_file()
    numbers = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert len(numbers) == 3


def test_a_gpu_is_filled_by_default() -> None:
    """Isaac Gym has 4096 robots by default; MuJoCo keeps its own default."""

    def asked(name: str, otherwise: str) -> str:
        return "isaacgym" if name == "sim" else otherwise

    assert pretrain_cli._defaults(asked).num_robots == 4096
    assert pretrain_cli._defaults(lambda name, otherwise: otherwise).num_robots == 512
    assert cli._defaults(asked).shard_trajectories == 4096
    assert cli._defaults(lambda name, otherwise: otherwise).shard_trajectories == 500


def test_only_isaac_gym_needs_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes before any file is written."""
    monkeypatch.delenv("SOLO_ISAAC_PYTHON")
    assert isaac_config("mujoco") is None
    with pytest.raises(SoloError, match="--isaac-python or SOLO_ISAAC_PYTHON"):
        isaac_config("isaacgym")


def test_the_flag_names_another_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--isaac-python` overrides the environment variable in both commands."""
    wrong = str(tmp_path / "absent")
    for main in (cli.main, pretrain_cli.main):
        out = str(tmp_path / "out")
        flags = ("--sim", "isaacgym", "--isaac-python", wrong, "--out", out)
        assert run(monkeypatch, main, *flags) == 1
        assert not (tmp_path / "out" / "expert").exists()


def test_the_self_test_writes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is written even if Isaac Gym cannot be started."""
    out = tmp_path / "report.json"
    monkeypatch.setattr(
        sys, "argv", ["isaac_selftest", "--isaac-python", sys.executable, "--out", str(out)]
    )
    with pytest.raises(SystemExit):
        isaac_selftest.main()
    assert "No module named 'isaacgym'" in json.loads(out.read_text())["error"]
    monkeypatch.setattr(sys, "argv", ["isaac_selftest", "--device", "cpu", "--out", str(out)])
    assert isaac_selftest.main() == 0
    report = json.loads(out.read_text())
    assert report["ok"]
    assert report["about"]["device"] == "cpu"
