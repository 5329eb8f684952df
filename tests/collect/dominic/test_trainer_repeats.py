"""Repeatability of pre-training.

The same seed gives the same bits, and a stopped run continues to the same result.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from collect.cli.pretrain import PretrainCommand, pretrain
from collect.dominic.trainer import Trainer
from solo_doi.common.metrics_log import METRICS_FILE
from solo_doi.tasks.locomotion import LocomotionConfig
from tests.bits import differing
from tests.command import Command

from .runs import files, flags, metrics, state, stop_after, tiny, train, trained

ROOT = Path(__file__).parents[3]


# --- Seeds ---------------------------------------------------------------------------------------


def test_the_same_seed_trains_the_same_weights(tmp_path: Path) -> None:
    """Networks, optimisers, generators, simulated robots and metrics are equal to the last bit."""
    for name in ("one", "same"):
        trained(tmp_path / name, tiny())
    assert not differing(state(tmp_path / "one"), state(tmp_path / "same"))
    assert metrics(tmp_path / "one") == metrics(tmp_path / "same")


def test_another_seed_trains_other_weights(tmp_path: Path) -> None:
    """Seeds without effect would make repeated runs worthless."""
    one, other = (trained(tmp_path / str(seed), tiny(seed=seed)) for seed in (1, 2))
    different = differing(one.learner.state_dict(), other.learner.state_dict())
    weights = {name for name, _ in one.learner.named_parameters() if name != "multipliers.raw"}
    assert weights <= {name.lstrip(".") for name in different}


def test_the_global_generators_are_not_used(tmp_path: Path) -> None:
    """A library that draws from them must not change the run."""
    for name, seed in (("one", 1), ("same", 2)):
        torch.manual_seed(seed)
        np.random.seed(seed)
        trained(tmp_path / name, tiny(iterations=2))
    assert not differing(state(tmp_path / "one"), state(tmp_path / "same"))


# --- Stopping and continuing ---------------------------------------------------------------------


def test_a_resumed_run_equals_one_that_was_not_stopped(tmp_path: Path) -> None:
    """Six iterations at once, or three and, in a new trainer, three more.

    State, metrics and checkpoints are equal to the last bit.
    """
    whole: dict[str, Any] = {
        "iterations": 6,
        "save_every": 3,
        "checkpoints": (1, 4),
        "episode": LocomotionConfig(episode_steps=9),
    }
    trained(tmp_path / "unbroken", tiny(**whole))

    run = tmp_path / "broken"
    first = Trainer(tiny(**whole), run)
    stop_after(first, 4)
    assert len(metrics(run)) == 4
    second = Trainer(tiny(**whole), run)
    second.resume()
    assert second.iteration == 3
    train(second)

    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)
    assert files(tmp_path / "unbroken") == files(run)
    for name in ("model_1.pt", "model_4.pt", "model_6.pt"):
        one, other = (
            torch.load(tmp_path / kind / "checkpoints" / name) for kind in ("unbroken", "broken")
        )
        assert not differing(one, other), name


def test_the_curriculum_of_commands_continues(tmp_path: Path) -> None:
    """The curriculum depends on the iteration, not on the point of the stop."""
    episode = LocomotionConfig(forward_share=0.0, command_steps=3)
    config = tiny(iterations=8, save_every=2, num_skills=1, command_growth=0.9, episode=episode)
    seen = []
    for name, stop in (("unbroken", None), ("broken", 3)):
        trainer = Trainer(config, tmp_path / name)
        if stop:
            stop_after(trainer, stop)
            trainer = Trainer(config, tmp_path / name)
            trainer.resume()
        seen.append(train(trainer).task.command)
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[0] != [1.0, 0.0, 0.0]).any()


def kill_after(iterations: int, run: Path, options: list[str]) -> None:
    """Start a run in a separate process that gets `kill -9` after some logged iterations."""
    program = (
        "from pathlib import Path; from collect.cli.pretrain import main\n"
        "from tests.own_signals import Moment, signal_at\n"
        f"signal_at(Moment(lines={iterations}), Path({str(run)!r})); main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, *options, "--out", str(run)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_a_run_killed_with_no_warning_continues_to_the_same_weights(
    tmp_path: Path, command: Command
) -> None:
    """After a real `kill -9`, `--resume` gives the same state, checkpoints and metrics."""
    options = flags(iterations=36, save_every=5, num_skills=2, checkpoints=(2, 20))
    run = tmp_path / "killed"
    kill_after(8, run, options)
    assert len((run / METRICS_FILE).read_text().splitlines()) == 8
    assert not (run / "checkpoints" / "model_36.pt").exists()

    assert command("--resume", run)[0] == 0
    assert command(*options, "--out", tmp_path / "unbroken")[0] == 0
    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)
    assert [line["iteration"] for line in metrics(run)] == list(range(1, 37))
    for name in ("model_2.pt", "model_20.pt", "model_36.pt"):
        one, other = (
            torch.load(tmp_path / kind / "checkpoints" / name) for kind in ("unbroken", "killed")
        )
        assert not differing(one, other), name


def test_a_run_killed_before_its_first_save_starts_over(tmp_path: Path) -> None:
    """The run has a configuration and half a line of metrics; both are written again."""
    pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "unbroken"))
    run = tmp_path / "young"
    run.mkdir()
    (run / "config.yaml").write_text((tmp_path / "unbroken" / "config.yaml").read_text())
    (run / METRICS_FILE).write_text('{"iteration": 1, "reward/task": 0.5}\n{"itera')
    pretrain(PretrainCommand(resume=run))
    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)


def test_a_finished_run_is_not_changed_by_resuming_it(tmp_path: Path) -> None:
    run = pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "run"))
    saved, lines = state(run), metrics(run)
    checkpoint = torch.load(run / "checkpoints" / "model_3.pt")
    pretrain(PretrainCommand(resume=run))
    assert not differing(saved, state(run))
    assert metrics(run) == lines
    assert not differing(checkpoint, torch.load(run / "checkpoints" / "model_3.pt"))


def test_a_run_is_resumed_with_its_own_configuration(tmp_path: Path) -> None:
    """Flags that would change the configuration are ignored."""
    run = pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "run"))
    before = (run / "config.yaml").read_text()
    pretrain(PretrainCommand(resume=run, iterations=99, seed=7))
    assert (run / "config.yaml").read_text() == before
    assert len(metrics(run)) == 3
