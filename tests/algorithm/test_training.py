"""Runs of training: what they leave, seeds, options, and that a stopped run continues as if it had not been."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from solo_doi.algorithm.config import DiscriminatorConfig, PolicyConfig, TrainConfig
from solo_doi.algorithm.health import TrainingError
from solo_doi.algorithm.training import Training, kept_steps, pick_device
from solo_doi.data.dataset import Dataset, read_transitions
from solo_doi.data.transitions import Transitions
from solo_doi.errors import SoloError
from solo_doi.policies.skills import SkillPolicy
from solo_doi.train_log import TrainLog

from .runs import (
    EXPERT_TERMS,
    ROWS,
    arrays_of,
    assert_same_run,
    metrics_of,
    summary_of,
    tiny,
    train,
    write_made_up,
    write_made_up_task,
)

Data = tuple[Transitions, Transitions]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Coverage data and expert's states."""
    folder = write_made_up_task(tmp_path_factory.mktemp("task")) / "datasets" / "locomotion"
    return read_transitions(folder / "coverage"), read_transitions(folder / "demonstrations")


@pytest.fixture(scope="module")
def run(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of `tiny()`."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(tiny(), *data, path)
    return path


def changed(config: TrainConfig, part: str, **changes: Any) -> TrainConfig:  # noqa: ANN401  # any field
    """The configuration with some settings of a part changed."""
    return replace(config, **{part: replace(getattr(config, part), **changes)})


# --- Ratios and what is said of them -------------------------------------------------------------


def test_ratios_are_weights_of_every_transition_that_sum_to_one(run: Path) -> None:
    """In double precision: tiny weights are no zeros."""
    ratios = arrays_of(run / "ratios.h5")
    assert ratios["log_w_expert"].shape == (ROWS,)
    assert ratios["log_w_skills"].shape == (3, ROWS)
    for array in ratios.values():
        assert array.dtype == np.float64
        np.testing.assert_allclose(np.logaddexp.reduce(array, axis=-1), 0, atol=1e-12)


def test_ratios_are_in_the_order_of_the_data(data: Data, tmp_path: Path) -> None:
    """Where states look like the expert's, and only there, the expert's weights are large."""
    coverage, expert = data
    alike = np.isin(coverage.trajectory, (2, 7))
    seen, demonstrated = coverage.observations.copy(), expert.observations.copy()
    seen[:, coverage.terms["linear_velocity"]] = np.where(alike, 3.0, -1.0)[:, None]
    demonstrated[:, expert.terms["linear_velocity"]] = 3.0
    config = tiny(objective="smodice", projection=("linear_velocity",))
    config = changed(config, "classifier", average=1, updates=200, reward_scale=20.0)
    train(config, replace(coverage, observations=seen), replace(expert, observations=demonstrated), tmp_path)
    log_w = arrays_of(tmp_path / "ratios.h5")["log_w_expert"]
    assert log_w[alike].min() > log_w[~alike].max()


def test_ratios_are_those_of_the_values_that_were_learned(data: Data, run: Path) -> None:
    """Computed anew, row by row from the data, from what the last checkpoint holds."""
    training = Training(tiny(), *data, run)
    doi = training.load(run / "checkpoints" / "outer_0004.pt")
    scale, gamma = training.problem.state_scale, tiny().gamma
    with torch.no_grad():
        here, there = (
            doi.value.network(torch.from_numpy(scale(states)))[..., 0].double().numpy()
            for states in (data[0].observations, data[0].next_observations)
        )
        reward = doi.reward(torch.arange(ROWS)).double().numpy()
    delta = reward + gamma * there - here
    cap = np.sort(delta, axis=1)[:, math.ceil(tiny().truncation * ROWS) - 1]
    delta = np.minimum(delta, cap[:, None])
    expected = delta - np.logaddexp.reduce(delta, axis=1, keepdims=True)
    np.testing.assert_allclose(arrays_of(run / "ratios.h5")["log_w_skills"], expected, atol=1e-4)


def test_the_summary_says_what_the_ratios_say(data: Data, run: Path) -> None:
    """Divergences, effective samples and distances, computed anew from the file."""
    summary, ratios = summary_of(run), arrays_of(run / "ratios.h5")
    w, w_expert = np.exp(ratios["log_w_skills"]), np.exp(ratios["log_w_expert"])
    phi = (w * np.log(w / w_expert)).sum(axis=1)
    samples = 1 / np.square(w).sum(axis=1)
    whole = np.stack([np.bincount(data[0].trajectory, weights=row) for row in w])

    def distances(weights: np.ndarray) -> np.ndarray:
        table = np.abs(weights[:, None] - weights[None]).sum(axis=-1)
        return table.sum(axis=1) / (len(weights) - 1)

    expected = {
        "phi": phi, "phi_mean": phi.mean(),
        "effective_samples": samples, "effective_share": samples / ROWS, "effective_share_mean": samples.mean() / ROWS,
        "ratio_l1_per_skill": distances(w), "ratio_l1": distances(w).mean(),
        "ratio_l1_trajectory_per_skill": distances(whole), "ratio_l1_trajectory": distances(whole).mean(),
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(summary[name], value, rtol=1e-6, err_msg=name)
    last = metrics_of(run)[-1]
    for name in ("sigma", "exponent"):
        assert summary[name] == [last[f"{name}/{skill}"] for skill in range(3)]
    assert 0 <= summary["held_out_accuracy"] <= 1
    assert {name: summary[name] for name in ("eps", "skills", "seed")} == {"eps": 2.0, "skills": 3, "seed": 1}


def test_nothing_is_said_of_accuracy_where_nothing_is_held_out(data: Data, tmp_path: Path) -> None:
    """A number on data it was trained on would be another."""
    train(changed(tiny(), "discriminator", held_out=0.0), *data, tmp_path)
    assert summary_of(tmp_path)["held_out_accuracy"] is None


def test_metrics_have_a_line_per_outer_step(run: Path) -> None:
    """With every skill's state, all numbers."""
    lines = metrics_of(run)
    assert [line["outer"] for line in lines] == [1, 2, 3, 4]
    for line in lines:
        assert {f"{name}/{skill}" for name in ("phi", "sigma") for skill in range(3)} <= line.keys()
        assert all(math.isfinite(value) for value in line.values())


# --- Policies and checkpoints --------------------------------------------------------------------


def test_policies_act_within_the_range_of_the_data(data: Data, run: Path) -> None:
    """Three skills and the expert, all of one network; other skills act otherwise."""
    policy, expert = (SkillPolicy.read(run / name) for name in ("policy.h5", "expert.h5"))
    assert (policy.num_skills, expert.num_skills) == (3, 1)
    np.testing.assert_array_equal(policy.first, expert.first)
    low, high = data[0].actions.min(axis=0), data[0].actions.max(axis=0)  # type: ignore[union-attr]  # there are some
    actions = [policy.mean_action(data[0].observations, skill) for skill in range(3)]
    actions.append(expert.mean_action(data[0].observations, 0))
    for number, action in enumerate(actions):
        assert action.shape == (ROWS, 12)
        assert ((low - 1e-2 <= action) & (action <= high + 1e-2)).all()
        assert all(not np.array_equal(action, other) for other in actions[:number])


@pytest.mark.parametrize(
    ("outer", "count", "expected"),
    [
        (120, 8, [15, 30, 45, 60, 75, 90, 105, 120]),
        (4, 2, [2, 4]),
        (3, 3, [1, 2, 3]),
        (3, 100, [1, 2, 3]),
        (7, 1, [7]),
    ],
)
def test_checkpoints_are_evenly_spaced_and_end_with_the_run(outer: int, count: int, expected: list[int]) -> None:
    """No more of them than asked for."""
    assert sorted(kept_steps(outer, count)) == expected


def test_checkpoints_hold_training_as_it_was(data: Data, run: Path) -> None:
    """From the first of two, the second is reached bit for bit."""
    assert sorted(path.name for path in run.glob("checkpoints/*")) == ["outer_0002.pt", "outer_0004.pt"]
    doi = Training(tiny(), *data, run).load(run / "checkpoints" / "outer_0002.pt")
    assert doi.outer == 2
    for line in metrics_of(run)[2:]:
        assert {"outer": doi.outer + 1} | doi.step() == line


def test_no_checkpoints_are_kept_if_none_are_asked_for(data: Data, tmp_path: Path) -> None:
    """Nor a folder for them."""
    train(tiny(checkpoints=0), *data, tmp_path)
    assert not (tmp_path / "checkpoints").exists()


# --- Seeds and labels ----------------------------------------------------------------------------


def test_the_same_seed_trains_the_same_weights(data: Data, run: Path, tmp_path: Path) -> None:
    """Bit for bit, whatever the global generators are at."""
    torch.manual_seed(99)
    np.random.seed(99)
    train(tiny(), *data, tmp_path)
    assert_same_run(run, tmp_path)


def test_another_seed_trains_other_weights(data: Data, run: Path, tmp_path: Path) -> None:
    """Seeds that have no effect would make five runs one."""
    train(tiny(seed=2), *data, tmp_path)
    for name in ("policy.h5", "expert.h5"):
        one, other = arrays_of(run / name), arrays_of(tmp_path / name)
        for array in ("first", "skill", "second", "head"):
            assert not np.array_equal(one[array], other[array]), array
    assert (arrays_of(run / "ratios.h5")["log_w_expert"] != arrays_of(tmp_path / "ratios.h5")["log_w_expert"]).any()


def test_labels_play_no_part(data: Data, run: Path, tmp_path: Path) -> None:
    """Other skills, checkpoints, positions and falls beside the same transitions: the same weights."""
    other = write_made_up(tmp_path / "coverage", label_seed=1)
    original = write_made_up(tmp_path / "original", label_seed=0)
    for name in ("episodes/skill", "episodes/checkpoint", "episodes/command", "infos/base_position"):
        assert (Dataset(other).column(name) != Dataset(original).column(name)).any(), name
    train(tiny(), read_transitions(other), data[1], tmp_path / "run")
    assert_same_run(run, tmp_path / "run")


# --- Options -------------------------------------------------------------------------------------


def ratios(config: TrainConfig, data: Data, path: Path) -> np.ndarray:
    """Skills' log weights of a run, all finite."""
    train(config, *data, path)
    log_w = arrays_of(path / "ratios.h5")["log_w_skills"]
    assert np.isfinite(log_w).all()
    assert all(np.isfinite(array).all() for array in arrays_of(path / "policy.h5").values())
    return log_w


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_fixed_multipliers_stay(data: Data, tmp_path: Path, sigma: float) -> None:
    """Throughout, whatever eps is."""
    one, other = (ratios(tiny(multipliers=f"fixed:{sigma}", eps=eps), data, tmp_path / str(eps)) for eps in (0.0, 9.0))
    for line in metrics_of(tmp_path / "0.0"):
        assert [line[f"sigma/{skill}"] for skill in range(3)] == [sigma] * 3
    assert summary_of(tmp_path / "0.0")["sigma"] == [sigma] * 3
    np.testing.assert_array_equal(one, other)


def test_learned_multipliers_follow_eps(data: Data, tmp_path: Path) -> None:
    """Up where every skill is too far from the expert, down where none is."""
    final = []
    for eps in (0.0, 9.0):
        ratios(tiny(eps=eps), data, tmp_path / str(eps))
        final.append(summary_of(tmp_path / str(eps))["sigma"])
    assert min(final[0]) > 0.5 > max(final[1])


def test_smodice_has_one_skill_which_is_the_expert(data: Data, tmp_path: Path) -> None:
    """No multipliers, no outer steps, the same policy twice."""
    log_w = ratios(tiny(objective="smodice"), data, tmp_path)
    assert log_w.shape == (1, ROWS)
    np.testing.assert_array_equal(log_w[0], arrays_of(tmp_path / "ratios.h5")["log_w_expert"])
    policy, expert = arrays_of(tmp_path / "policy.h5"), arrays_of(tmp_path / "expert.h5")
    assert len(policy["skill"]) == 1
    for name in policy:
        np.testing.assert_array_equal(policy[name], expert[name])
    summary = summary_of(tmp_path)
    assert summary["phi"] == [0.0]
    assert "sigma" not in summary
    assert metrics_of(tmp_path) == []


def test_the_expert_does_not_depend_on_the_skills(data: Data, run: Path, tmp_path: Path) -> None:
    """SMODICE alone recovers the same one as DOI does first."""
    ratios(tiny(objective="smodice"), data, tmp_path)
    one, other = (arrays_of(path / "ratios.h5")["log_w_expert"] for path in (run, tmp_path))
    np.testing.assert_array_equal(one, other)


def test_without_constraint_multipliers_play_no_part(data: Data, tmp_path: Path) -> None:
    """Learned or fixed; the weight of diversity does."""
    learned = ratios(tiny(objective="unconstrained:5"), data, tmp_path / "learned")
    for multipliers in ("fixed:0", "fixed:1"):
        config = tiny(objective="unconstrained:5", multipliers=multipliers)
        np.testing.assert_array_equal(learned, ratios(config, data, tmp_path / multipliers))
    assert (learned != ratios(tiny(objective="unconstrained:0"), data, tmp_path / "none")).any()


def test_the_divergence_changes_expert_and_skills(data: Data, run: Path, tmp_path: Path) -> None:
    """chi2 gives other weights from the same random numbers."""
    ratios(tiny(divergence="chi2"), data, tmp_path)
    for name, array in arrays_of(tmp_path / "ratios.h5").items():
        assert np.abs(array - arrays_of(run / "ratios.h5")[name]).max() > 1e-3


def test_van_der_waals_needs_no_discriminator(data: Data, tmp_path: Path) -> None:
    """It tells the distance of mean features instead of an accuracy."""
    ratios(tiny(diversity="van_der_waals"), data, tmp_path)
    lines = metrics_of(tmp_path)
    assert lines[0]["skills/distance"] > 0
    assert not any("discriminator" in name for line in lines for name in line)
    assert "held_out_accuracy" not in summary_of(tmp_path)


def test_one_projection_serves_classifier_and_discriminator(data: Data, tmp_path: Path) -> None:
    """As if both had been given its terms."""
    terms = ("angular_velocity.z", "linear_velocity")
    apart = changed(changed(tiny(), "classifier", terms=terms), "discriminator", terms=terms)
    one = ratios(tiny(projection=terms), data, tmp_path / "one")
    np.testing.assert_array_equal(one, ratios(apart, data, tmp_path / "apart"))
    assert (one != ratios(tiny(), data, tmp_path / "default")).any()


def test_truncation_caps_the_largest_ratios(data: Data, tmp_path: Path) -> None:
    """A tenth of the rows share the largest weight; without it none do."""
    for truncation, share in ((0.9, 0.1), (1.0, 0.0)):
        log_w = ratios(tiny(truncation=truncation), data, tmp_path / str(truncation))
        tied = (log_w == log_w.max(axis=1, keepdims=True)).sum(axis=1) - 1
        np.testing.assert_array_equal(tied, [round(share * ROWS)] * 3)


def test_the_discriminator_is_held_in_the_last_steps(data: Data, tmp_path: Path) -> None:
    """Half of four steps."""
    ratios(changed(tiny(), "discriminator", hold=0.5), data, tmp_path)
    assert ["loss/discriminator" in line for line in metrics_of(tmp_path)] == [True, True, False, False]


POLICIES = {
    "weighted": PolicyConfig(resampled=False),
    "by row": PolicyConfig(trajectory_weights=False),
    "squashed": PolicyConfig(squashed=True),
    "entropy": PolicyConfig(squashed=True, entropy=True),
    "in loop": PolicyConfig(in_loop=True),
    "in loop as printed": PolicyConfig(in_loop=True, squashed=True, entropy=True),
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_way_to_clone_gives_other_policies_from_the_same_ratios(
    data: Data, run: Path, tmp_path: Path, name: str
) -> None:
    """Nothing depends on policies, unless they are trained in the loop and draw numbers there."""
    config = tiny(policy=replace(POLICIES[name], updates=5, hidden=8, batch=32))
    log_w = ratios(config, data, tmp_path)
    if not config.policy.in_loop:
        np.testing.assert_array_equal(log_w, arrays_of(run / "ratios.h5")["log_w_skills"])
    assert (arrays_of(tmp_path / "policy.h5")["head"] != arrays_of(run / "policy.h5")["head"]).any()
    assert SkillPolicy.read(tmp_path / "policy.h5").num_skills == 3
    assert SkillPolicy.read(tmp_path / "policy.h5").squashed == config.policy.squashed
    assert (tmp_path / "expert.h5").exists() != config.policy.in_loop
    assert ("loss/policy" in metrics_of(tmp_path)[-1]) == config.policy.in_loop


# --- Stopping and continuing ---------------------------------------------------------------------


class Stopped(Exception):  # noqa: N818  # not an error
    """Raised to leave training."""


class StoppingLog(TrainLog):
    """Leaves after an outer step was logged, or in the middle of a stage."""

    def __init__(self, run: Path, skills: int, first: int, *, after: int | str) -> None:
        """`after` is the number of an outer step, or the name of a stage."""
        super().__init__(run, skills, first)
        self._after, self._name = after, ""

    def stage(self, name: str, steps: int) -> None:
        """Remember where we are."""
        super().stage(name, steps)
        self._name = name

    def advance(self) -> None:
        """Leave if this is the stage."""
        super().advance()
        if self._name == self._after:
            raise Stopped

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Log, and leave if this is the step."""
        super().outer(number, metrics)
        if number == self._after:
            raise Stopped


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        *(({}, after) for after in ("expert", 1, 2, 3, 4, "policies")),
        ({"diversity": "van_der_waals"}, 3),
        ({"policy": PolicyConfig(squashed=True, entropy=True, in_loop=True, hidden=8, batch=32)}, 3),
    ],
)
def test_a_stopped_run_continues_as_if_it_had_not_been(
    data: Data, tmp_path: Path, after: int | str, changes: dict[str, Any]
) -> None:
    """Wherever it was: the same weights, ratios, metrics and checkpoints."""
    config = tiny(**changes)
    train(config, *data, tmp_path / "unbroken")
    run = tmp_path / "stopped"
    run.mkdir()
    training = Training(config, *data, run)
    with pytest.raises(Stopped), StoppingLog(run, config.skills, 0, after=after) as log:
        training.train(log)
    assert not (run / "summary.json").exists()
    train(config, *data, run)
    assert_same_run(tmp_path / "unbroken", run)
    assert summary_of(tmp_path / "unbroken") == summary_of(run)


def test_a_finished_run_is_not_changed_by_continuing_it(data: Data, tmp_path: Path) -> None:
    """Nothing is left to do but to write the same again."""
    for name in ("once", "twice"):
        train(tiny(), *data, tmp_path / name)
    train(tiny(), *data, tmp_path / "twice")
    assert_same_run(tmp_path / "once", tmp_path / "twice")
    assert summary_of(tmp_path / "once") == summary_of(tmp_path / "twice")


def test_a_checkpoint_of_other_data_is_refused(data: Data, run: Path, tmp_path: Path) -> None:
    """Weights of rows that are not there mean nothing."""
    other = read_transitions(write_made_up(tmp_path / "other", lengths=((30, 20),)))
    with pytest.raises(SoloError, match="made from 300 transitions, the data have 50"):
        Training(tiny(), other, data[1], run).load(run / "checkpoints" / "outer_0002.pt")


# --- What cannot be trained ----------------------------------------------------------------------


def test_data_that_do_not_fit_are_refused(data: Data, tmp_path: Path) -> None:
    """Before anything is written."""
    coverage, expert = data
    fewer = read_transitions(
        write_made_up(tmp_path / "thin", terms=EXPERT_TERMS | {"linear_velocity": 2}, actions=False)
    )
    for config, one, other, message in (
        (tiny(), expert, expert, "coverage data have no actions"),
        (tiny(projection=("linear_velocty",)), coverage, expert, "Did you mean 'linear_velocity'"),
        (tiny(projection=("gravity",)), coverage, expert, "term of the expert data 'gravity'. Known: angular"),
        (tiny(projection=("linear_velocity.w",)), coverage, expert, "has 3 numbers; expected one of them"),
        (tiny(projection=("linear_velocity",)), coverage, fewer, "3 numbers in the coverage data, 2 in the expert"),
    ):
        with pytest.raises(SoloError, match=message):
            Training(config, one, other, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_that_diverges_ends_with_what_to_change(data: Data, tmp_path: Path) -> None:
    """NaN does not spread into a policy."""
    for part, changes in (("value", {"lr": 1e30}), ("classifier", {"reward_scale": math.nan})):
        path = tmp_path / part
        with pytest.raises(TrainingError, match=r"became nan.*Lower value\.lr"):
            train(changed(tiny(), part, **changes), *data, path)
        assert not (path / "policy.h5").exists()
    with pytest.raises(TrainingError, match="loss/value became nan in outer step 1"):
        train(tiny(diversity_weight=math.nan), *data, tmp_path / "diversity")


def test_something_remains_to_learn_from_if_all_would_be_held_out(tmp_path: Path, data: Data) -> None:
    """One trajectory, of which half is to be held out: it is not, whatever the seed."""
    one = read_transitions(write_made_up(tmp_path / "one", lengths=((60,),)))
    for seed in range(4):
        config = tiny(seed=seed, outer=1, checkpoints=0, discriminator=DiscriminatorConfig(held_out=0.5, updates=1))
        assert not Training(config, one, data[1], tmp_path).problem.held_out.any()


@pytest.mark.parametrize("name", ["gpu", "mps", "meta", "", "cuda:x"])
def test_a_device_that_is_none_is_refused(name: str) -> None:
    """With those that are."""
    with pytest.raises(SoloError, match="expected cpu, cuda or auto"):
        pick_device(name)


def test_a_missing_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to use instead; auto takes what there is."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SoloError, match=r"no CUDA device here\. Use --device cpu"):
        pick_device("cuda")
    assert pick_device("auto") == pick_device("cpu") == torch.device("cpu")


def test_ratios_say_what_they_are(run: Path) -> None:
    """For those who find the file alone."""
    with h5py.File(run / "ratios.h5") as file:
        assert "sum to 1 over the transitions, in the order of the data" in file.attrs["meaning"]
