"""Results of pre-training: configuration, metrics, checkpoints and their policies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from collect.cli.pretrain import PretrainCommand, pretrain
from collect.dominic.run_log import RunLog
from collect.dominic.trainer import Trainer
from solo_doi.common.errors import SoloError
from solo_doi.common.metrics_log import METRICS_FILE
from solo_doi.policies.dominic_checkpoint import read_policy

from .runs import files, metrics, tiny, train, trained


def test_a_run_leaves_configuration_metrics_state_events_and_checkpoints(tmp_path: Path) -> None:
    """No partial or temporary files remain."""
    run = pretrain(PretrainCommand(**vars(tiny(checkpoints=(0, 1))), out=tmp_path / "run"))
    checkpoints = {f"checkpoints/model_{iteration}.pt" for iteration in (0, 1, 3)}
    records = {"config.yaml", "provenance.json", METRICS_FILE, "state.pt", "tensorboard/events"}
    assert files(run) == {".lock"} | records | checkpoints


def test_the_resolved_configuration_lies_beside_the_run(tmp_path: Path) -> None:
    """The file contains all values, including defaults.

    It stays valid if later versions have other defaults.
    """
    run = pretrain(PretrainCommand(**vars(tiny(seed=5)), out=tmp_path / "run"))
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["seed"] == 5
    assert written["policy_hidden"] == [16, 8]
    assert written["diversity"]["alpha"] == tiny().diversity.alpha
    assert written["episode"]["randomisation"] == "robust"
    assert not {"out", "resume", "start"} & set(written)


def test_the_record_names_software_and_simulator(tmp_path: Path) -> None:
    """A continued run keeps the record of its beginning; a damaged record is named."""
    run = pretrain(PretrainCommand(**vars(tiny()), out=tmp_path / "run"))
    path = run / "provenance.json"
    began = json.loads(path.read_text())
    assert began["simulator"] == {"name": "MuJoCo"}
    assert began["software"]["mujoco"]
    path.write_text(json.dumps({**began, "software": {"solo-doi": "0.2"}}))
    pretrain(PretrainCommand(resume=run))
    continued = json.loads(path.read_text())
    assert continued["software"] == {"solo-doi": "0.2"}
    assert continued["continued_with"] == began
    for damaged, problem in (("{", "cannot be read"), ("[1]", "holds a list, expected")):
        path.write_text(damaged)
        with pytest.raises(SoloError, match=rf"provenance.json: {problem} .* Delete it"):
            pretrain(PretrainCommand(resume=run))


def test_checkpoints_are_policies_that_count_iterations_and_steps(tmp_path: Path) -> None:
    """`model_0` is after one update, as in the original code.

    Four steps of 16 robots are 64 steps per iteration.
    """
    trainer = trained(tmp_path, tiny(checkpoints=(0,)))
    for iteration, updates in ((0, 1), (3, 3)):
        path = tmp_path / "checkpoints" / f"model_{iteration}.pt"
        assert read_policy(path).num_skills == 3
        content = torch.load(path, weights_only=True)
        assert (content["iteration"], content["tot_timesteps"]) == (iteration, updates * 64)
    last = read_policy(tmp_path / "checkpoints" / "model_3.pt")
    np.testing.assert_array_equal(last.weights[0], trainer.policy().weights[0])
    assert (
        last.weights[0] != read_policy(tmp_path / "checkpoints" / "model_0.pt").weights[0]
    ).any()


def test_the_written_policy_acts_as_the_trained_one(tmp_path: Path) -> None:
    """The numpy policy of the file equals the run's torch policy, with normaliser and masks."""
    trainer = trained(tmp_path, tiny())
    learner, policy = trainer.learner, trainer.policy()
    observation = torch.randn(6, 48, generator=torch.Generator().manual_seed(0))
    skill = torch.tensor([0, 1, 2, 0, 1, 2])
    with torch.no_grad():
        expected = learner.policy(learner.normaliser(observation), skill).numpy()
    np.testing.assert_allclose(
        policy.mean_action(observation.numpy(), skill.numpy()), expected, rtol=1e-4, atol=1e-5
    )


def test_the_policy_of_a_run_is_detached_from_training(tmp_path: Path) -> None:
    """Further training does not change a policy that was extracted before."""
    trainer = Trainer(tiny(), tmp_path)
    policy = trainer.policy()
    before = policy.weights[0].copy()
    train(trainer)
    np.testing.assert_array_equal(policy.weights[0], before)


def test_metrics_have_one_line_per_iteration(tmp_path: Path) -> None:
    """Reward groups, constraint slack and distances are finite and numbered from 1."""
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
    """They will be written again; a line cut by the kill is dropped as well."""
    lines = [json.dumps({"iteration": number}) for number in (1, 2, 3)]
    (tmp_path / METRICS_FILE).write_text("\n".join(lines) + '\n{"iteration": 4, "rew')
    with RunLog(tmp_path, iterations=9, num_skills=1, first=2):
        pass
    assert [line["iteration"] for line in metrics(tmp_path)] == [1, 2]


def test_robots_share_the_skills_evenly(tmp_path: Path) -> None:
    """With 16 robots, 3 skills have 6, 5 and 5."""
    assert torch.bincount(Trainer(tiny(), tmp_path)._skill).tolist() == [6, 5, 5]
