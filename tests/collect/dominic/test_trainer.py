"""Runs: seeds, files, and that a run which was stopped continues as if it had not been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from collect.dominic.cli import PretrainCommand, main, pretrain
from collect.dominic.progress import RunLog
from collect.dominic.trainer import STATE_FILE, Trainer
from solo_doi.errors import SoloError
from solo_doi.metrics_log import METRICS_FILE
from solo_doi.policies.dominic import read_policy
from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

from .runs import differing, flags, tiny, train, trained

ROOT = Path(__file__).parents[3]
PROGRAM = "from collect.dominic.cli import main; main()"


def state(run: Path) -> dict[str, object]:
    """Everything a run saved."""
    return torch.load(run / STATE_FILE, weights_only=True)


def metrics(run: Path) -> list[dict[str, float]]:
    """Lines of the metrics file, without the time they took."""
    lines = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "steps_per_second"} for line in lines]


def files(run: Path) -> set[str]:
    """Files of a run; those of TensorBoard by their kind, since their names hold the time."""
    paths = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    return {"tensorboard/events" if path.startswith("tensorboard/events") else path for path in paths}


# --- Seeds ---------------------------------------------------------------------------------------


def test_the_same_seed_trains_the_same_weights(tmp_path: Path) -> None:
    """Bit for bit: networks, optimisers, generators, simulated robots; and the same metrics."""
    for name in ("one", "same"):
        trained(tmp_path / name, tiny())
    assert not differing(state(tmp_path / "one"), state(tmp_path / "same"))
    assert metrics(tmp_path / "one") == metrics(tmp_path / "same")


def test_another_seed_trains_other_weights(tmp_path: Path) -> None:
    """Seeds that have no effect would make five runs one."""
    one, other = (trained(tmp_path / str(seed), tiny(seed=seed)) for seed in (1, 2))
    different = differing(one.learner.state_dict(), other.learner.state_dict())
    weights = {name for name, _ in one.learner.named_parameters() if name != "multipliers.raw"}
    assert weights <= {name.lstrip(".") for name in different}


def test_the_global_generators_are_not_used(tmp_path: Path) -> None:
    """A library that draws from them in between would change the run."""
    for name, seed in (("one", 1), ("same", 2)):
        torch.manual_seed(seed)
        np.random.seed(seed)
        trained(tmp_path / name, tiny(iterations=2))
    assert not differing(state(tmp_path / "one"), state(tmp_path / "same"))


# --- Stopping and continuing ---------------------------------------------------------------------


def test_a_resumed_run_equals_one_that_was_not_stopped(tmp_path: Path) -> None:
    """Six iterations at once, or three and, in a new trainer, three more: the same bits, lines and checkpoints."""
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
        one, other = (torch.load(tmp_path / kind / "checkpoints" / name) for kind in ("unbroken", "broken"))
        assert not differing(one, other), name


NETWORKS = ("policy.network", "values", "successor")


class Stopped(Exception):  # noqa: N818  # not an error
    """Raised to leave the training loop."""


def stop_after(trainer: Trainer, iterations: int) -> None:
    """Train until an iteration was logged, then leave as an interrupt would."""

    class Log(RunLog):
        def iteration(self, number: int, metrics: dict[str, float]) -> None:
            """Log, and stop."""
            super().iteration(number, metrics)
            if number == iterations:
                raise Stopped

    trainer.run.mkdir(parents=True)
    config = trainer.config
    with pytest.raises(Stopped), Log(trainer.run, config.iterations, config.num_skills) as log:
        trainer.train(log)


def test_the_curriculum_of_commands_continues(tmp_path: Path) -> None:
    """How far commands spread depends on the iteration, not on where the run was stopped."""
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


def test_a_run_killed_with_no_warning_continues_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real `kill -9` in the middle, then `--resume`: state, checkpoints and metrics of a run left alone."""
    options = flags(iterations=36, save_every=5, num_skills=2, checkpoints=(2, 20))
    run = tmp_path / "killed"
    kill_after(8, run, [sys.executable, "-c", PROGRAM, *options, "--out", str(run)])
    assert 8 <= len((run / METRICS_FILE).read_text().splitlines()) < 36
    assert not (run / "checkpoints" / "model_36.pt").exists()

    command_line(monkeypatch, "--resume", str(run))
    command_line(monkeypatch, *options, "--out", str(tmp_path / "unbroken"))
    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)
    assert [line["iteration"] for line in metrics(run)] == list(range(1, 37))
    for name in ("model_2.pt", "model_20.pt", "model_36.pt"):
        one, other = (torch.load(tmp_path / kind / "checkpoints" / name) for kind in ("unbroken", "killed"))
        assert not differing(one, other), name


def kill_after(iterations: int, run: Path, command: list[str]) -> None:
    """Start a run in a process of its own and kill it once it has logged some iterations."""
    log = run / METRICS_FILE
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None and not (log.exists() and log.read_text().count("\n") >= iterations):
                time.sleep(0.005)
        finally:
            process.send_signal(signal.SIGKILL)
        _, problems = process.communicate()
    assert process.returncode == -signal.SIGKILL, problems


def command_line(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run solo-pretrain in this process."""
    monkeypatch.setattr(sys, "argv", ["solo-pretrain", *arguments])
    main()


def test_a_run_killed_before_its_first_save_starts_over(tmp_path: Path) -> None:
    """It has a configuration and perhaps half a line of metrics: all of it is done again."""
    pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "unbroken"))
    run = tmp_path / "young"
    run.mkdir()
    (run / "config.yaml").write_text((tmp_path / "unbroken" / "config.yaml").read_text())
    (run / METRICS_FILE).write_text('{"iteration": 1, "reward/task": 0.5}\n{"itera')
    pretrain(PretrainCommand(resume=run))
    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)


def test_a_finished_run_is_not_changed_by_resuming_it(tmp_path: Path) -> None:
    """Nothing is left to do."""
    run = pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "run"))
    saved, lines = state(run), metrics(run)
    checkpoint = torch.load(run / "checkpoints" / "model_3.pt")
    pretrain(PretrainCommand(resume=run))
    assert not differing(saved, state(run))
    assert metrics(run) == lines
    assert not differing(checkpoint, torch.load(run / "checkpoints" / "model_3.pt"))


def test_a_run_is_resumed_with_its_own_configuration(tmp_path: Path) -> None:
    """Flags that would change it are ignored: half a run each of two settings is neither."""
    run = pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "run"))
    before = (run / "config.yaml").read_text()
    pretrain(PretrainCommand(resume=run, iterations=99, seed=7))
    assert (run / "config.yaml").read_text() == before
    assert len(metrics(run)) == 3


# --- Starting from another run -------------------------------------------------------------------


def test_a_run_can_start_from_the_weights_of_another(tmp_path: Path) -> None:
    """Networks and normalisers are taken over, but for inputs that never changed; the other run is not touched."""
    config = tiny(num_skills=1)
    source = trained(tmp_path / "expert", config)
    untouched = state(tmp_path / "expert")
    further = Trainer(tiny(num_skills=1, seed=9, action_std=0.1), tmp_path / "further")
    further.start_from(tmp_path / "expert")
    seen = torch.as_tensor(further.task.observe())
    seen[:, -3:] = torch.tensor([1.0, 0.0, 0.0])  # the command of the expert: both must do the same
    skill = torch.zeros(len(seen), dtype=torch.long)
    actions = [
        learner.policy(learner.normaliser(seen), skill).detach() for learner in (source.learner, further.learner)
    ]
    torch.testing.assert_close(*actions)
    neutral = {"normaliser.mean", "normaliser.var", *(f"{name}.first.weight" for name in NETWORKS)}
    changed = {name.lstrip(".") for name in differing(source.learner.state_dict(), further.learner.state_dict())}
    assert changed == neutral
    train(further)
    assert not differing(untouched, state(tmp_path / "expert"))


def test_inputs_that_never_changed_begin_neutral(tmp_path: Path) -> None:
    """Any command but the expert's would else be tens of deviations away, through weights that were never trained."""
    trained(tmp_path / "expert", tiny(num_skills=1))
    further = Trainer(tiny(num_skills=1, action_std=2.0), tmp_path / "further")
    further.start_from(tmp_path / "expert")
    learner = further.learner
    seen = torch.zeros(2, LocomotionTask.layout.size)
    seen[1, -3:] = torch.tensor([-0.5, 0.3, 0.8])
    normalised = learner.normaliser(seen)
    assert normalised[:, -3:].abs().max() < 1.0
    actions = learner.policy(normalised, torch.zeros(2, dtype=torch.long))
    torch.testing.assert_close(actions[0], actions[1])  # not yet told apart
    assert learner.policy.log_std.exp().min() >= 2.0 - 1e-6


def test_a_run_that_started_from_another_does_so_even_if_killed_at_once(tmp_path: Path) -> None:
    """The weights it starts from are saved before the first iteration, or resuming would begin with random ones."""
    expert = pretrain(PretrainCommand(**vars(tiny(num_skills=1)), out=tmp_path / "expert"))
    options = vars(tiny(num_skills=1, seed=9, save_every=100))
    unbroken = pretrain(PretrainCommand(**options, out=tmp_path / "unbroken", start=expert))
    run = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train", lambda *_: (_ for _ in ()).throw(Stopped))
        with pytest.raises(Stopped):
            pretrain(PretrainCommand(**options, out=run, start=expert))
    pretrain(PretrainCommand(resume=run))
    assert not differing(state(unbroken), state(run))


def test_weights_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    """An expert's network has one row of masks, five skills need five."""
    trained(tmp_path / "expert", tiny(num_skills=1))
    with pytest.raises(SoloError, match=r"expert.*state\.pt: its weights do not fit.*as many skills"):
        Trainer(tiny(num_skills=3), tmp_path / "skills").start_from(tmp_path / "expert")


def test_a_directory_without_a_saved_state_cannot_be_started_from(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(SoloError, match=r"state\.pt: no such file"):
        Trainer(tiny(), tmp_path / "run").start_from(tmp_path)


# --- Files and flags -----------------------------------------------------------------------------


def test_a_run_leaves_configuration_metrics_state_events_and_checkpoints(tmp_path: Path) -> None:
    """Nothing else: no partial files, no temporary ones."""
    run = pretrain(PretrainCommand(**vars(tiny(checkpoints=(0, 1))), out=tmp_path / "run"))
    checkpoints = {f"checkpoints/model_{iteration}.pt" for iteration in (0, 1, 3)}
    assert files(run) == {"config.yaml", METRICS_FILE, STATE_FILE, "tensorboard/events"} | checkpoints


def test_the_resolved_configuration_lies_beside_the_run(tmp_path: Path) -> None:
    """Every value, defaults included: a later version with other defaults still knows what this run was."""
    run = pretrain(PretrainCommand(**vars(tiny(seed=5)), out=tmp_path / "run"))
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["seed"] == 5
    assert written["policy_hidden"] == [16, 8]
    assert written["diversity"]["alpha"] == tiny().diversity.alpha
    assert written["episode"]["randomisation"] == "robust"
    assert not {"out", "resume", "start"} & set(written)


def test_checkpoints_are_policies_that_count_iterations_and_steps(tmp_path: Path) -> None:
    """`model_0` is after one update, as upstream; 4 steps of 16 robots are 64 steps per iteration."""
    trainer = trained(tmp_path, tiny(checkpoints=(0,)))
    for iteration, updates in ((0, 1), (3, 3)):
        path = tmp_path / "checkpoints" / f"model_{iteration}.pt"
        assert read_policy(path).num_skills == 3
        content = torch.load(path, weights_only=True)
        assert (content["iteration"], content["tot_timesteps"]) == (iteration, updates * 64)
    last = read_policy(tmp_path / "checkpoints" / "model_3.pt")
    np.testing.assert_array_equal(last.weights[0], trainer.policy().weights[0])
    assert (last.weights[0] != read_policy(tmp_path / "checkpoints" / "model_0.pt").weights[0]).any()


def test_the_written_policy_acts_as_the_trained_one(tmp_path: Path) -> None:
    """Normaliser, masks and all: the numpy policy of the file equals the torch policy of the run."""
    trainer = trained(tmp_path, tiny())
    learner, policy = trainer.learner, trainer.policy()
    observation = torch.randn(6, 48, generator=torch.Generator().manual_seed(0))
    skill = torch.tensor([0, 1, 2, 0, 1, 2])
    with torch.no_grad():
        expected = learner.policy(learner.normaliser(observation), skill).numpy()
    np.testing.assert_allclose(policy.mean_action(observation.numpy(), skill.numpy()), expected, rtol=1e-4, atol=1e-5)


def test_the_policy_of_a_run_is_detached_from_training(tmp_path: Path) -> None:
    """Going on training does not change a policy that was taken out."""
    trainer = Trainer(tiny(), tmp_path)
    policy = trainer.policy()
    before = policy.weights[0].copy()
    train(trainer)
    np.testing.assert_array_equal(policy.weights[0], before)


def test_metrics_have_one_line_per_iteration_with_what_matters(tmp_path: Path) -> None:
    """Reward groups, constraint slack, distances: finite numbers, numbered from 1."""
    trained(tmp_path, tiny())
    lines = metrics(tmp_path)
    assert [line["iteration"] for line in lines] == [1, 2, 3]
    names = {
        "reward/regular",
        "reward/task",
        "reward/intrinsic",
        "skills/distance",
        "skills/slack_2",
        "falls",
        "kl",
        "lr",
    }
    for line in lines:
        assert names <= set(line)
        assert np.isfinite(list(line.values())).all()


def test_lines_beyond_the_iteration_to_continue_from_are_dropped(tmp_path: Path) -> None:
    """They will be written again; a line that was cut by the kill goes too."""
    lines = [json.dumps({"iteration": number}) for number in (1, 2, 3)]
    (tmp_path / METRICS_FILE).write_text("\n".join(lines) + '\n{"iteration": 4, "rew')
    with RunLog(tmp_path, iterations=9, num_skills=1, first=2):
        pass
    assert [line["iteration"] for line in metrics(tmp_path)] == [1, 2]


def test_the_skills_flag_sets_how_many_skills_a_checkpoint_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line to the rows of the masks."""
    for skills in (1, 4):
        out = tmp_path / f"run{skills}"
        command_line(monkeypatch, *flags(iterations=1, num_skills=skills), "--out", str(out))
        assert read_policy(out / "checkpoints" / "model_1.pt").num_skills == skills


def test_robots_share_the_skills_evenly(tmp_path: Path) -> None:
    """16 robots, 3 skills: 6, 5 and 5."""
    assert torch.bincount(Trainer(tiny(), tmp_path)._skill).tolist() == [6, 5, 5]


@pytest.mark.parametrize("num_skills", [0, 17])
def test_skills_without_robots_are_refused(tmp_path: Path, num_skills: int) -> None:
    """The running value of a skill nobody has would be NaN, and with it the multipliers."""
    with pytest.raises(SoloError, match=f"{num_skills} skills on 16 robots"):
        Trainer(tiny(num_skills=num_skills), tmp_path)


# --- Refusals ------------------------------------------------------------------------------------


def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints when it refuses: one line, no traceback."""
    with pytest.raises(SystemExit) as exit_info:
        command_line(monkeypatch, *arguments)
    assert exit_info.value.code == 1
    message = capsys.readouterr().err
    assert message.startswith("solo-pretrain: ")
    assert message.count("\n") == 1
    return message


def test_an_existing_directory_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours of training may lie in it; the way to continue is named."""
    (tmp_path / "note").write_text("precious")
    message = refusal(monkeypatch, capsys, *flags(), "--out", str(tmp_path))
    assert f"{tmp_path}: exists already" in message
    assert f"--resume {tmp_path}" in message
    assert os.listdir(tmp_path) == ["note"]


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_what_is_not_a_run_cannot_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """A directory with other things in it, or none at all, and none is made."""
    (tmp_path / "empty").mkdir()
    assert "not a run of solo-pretrain" in refusal(monkeypatch, capsys, "--resume", str(tmp_path / name))
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_run_that_cannot_start_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or the corrected command would be refused because of it."""
    refusal(monkeypatch, capsys, *flags(num_skills=99), "--out", str(tmp_path / "run"))
    refusal(monkeypatch, capsys, *flags(), "--out", str(tmp_path / "run"), "--start", str(tmp_path))
    assert not (tmp_path / "run").exists()
