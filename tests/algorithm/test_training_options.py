"""Options of training: each has its documented effect and no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.algorithm.cloning import clone
from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training import Training
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_store import RunStore

from .runs import ROWS, Data, arrays_of, changed, metrics_of, summary_of, tiny, train


def ratios(config: TrainConfig, data: Data, path: Path) -> np.ndarray:
    """Return the skills' log weights of a run, after checking that they are finite."""
    train(config, *data, path)
    log_w = arrays_of(path / "ratios.h5")["log_w_skills"]
    assert np.isfinite(log_w).all()
    assert all(np.isfinite(array).all() for array in arrays_of(path / "policy.h5").values())
    return log_w


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_fixed_multipliers_stay(data: Data, tmp_path: Path, sigma: float) -> None:
    """The multipliers keep their value in every step, for any eps."""
    one, other = (
        ratios(
            tiny(multipliers=f"fixed:{sigma}", eps=eps, data_pull=1.0), data, tmp_path / str(eps)
        )
        for eps in (0.0, 9.0)
    )
    for line in metrics_of(tmp_path / "0.0"):
        assert [line[f"sigma/{skill}"] for skill in range(3)] == [sigma] * 3
    assert summary_of(tmp_path / "0.0")["sigma"] == [sigma] * 3
    np.testing.assert_array_equal(one, other)


def test_learned_multipliers_follow_eps(data: Data, tmp_path: Path) -> None:
    """Multipliers rise if all skills are too far from the expert, and fall if all are near."""
    final = []
    for eps in (0.0, 9.0):
        ratios(tiny(eps=eps), data, tmp_path / str(eps))
        final.append(summary_of(tmp_path / str(eps))["sigma"])
    assert min(final[0]) > 0.5 > max(final[1])


def test_smodice_has_one_skill_which_is_the_expert(data: Data, tmp_path: Path) -> None:
    """There are no multipliers and no outer steps; both files hold the same policy."""
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
    """SMODICE alone recovers the same expert as DOI does in its first stage."""
    ratios(tiny(objective="smodice"), data, tmp_path)
    one, other = (arrays_of(path / "ratios.h5")["log_w_expert"] for path in (run, tmp_path))
    np.testing.assert_array_equal(one, other)


def test_without_constraint_multipliers_play_no_part(data: Data, tmp_path: Path) -> None:
    """Learned and fixed multipliers give the same ratios; the weight of diversity changes them."""
    learned = ratios(tiny(objective="unconstrained:5"), data, tmp_path / "learned")
    for multipliers in ("fixed:0", "fixed:1"):
        config = tiny(objective="unconstrained:5", multipliers=multipliers)
        np.testing.assert_array_equal(learned, ratios(config, data, tmp_path / multipliers))
    assert (learned != ratios(tiny(objective="unconstrained:0"), data, tmp_path / "none")).any()
    summary = summary_of(tmp_path / "learned")
    assert not any(
        "sigma" in name for told in (summary, *metrics_of(tmp_path / "learned")) for name in told
    )
    assert summary["exponent"] == pytest.approx([5 / 3] * 3)


def test_flags_of_terminal_states_play_no_part(data: Data, run: Path, tmp_path: Path) -> None:
    """A terminal state's value counts like that of a truncated trajectory."""
    coverage, expert = data
    ends = np.isin(np.arange(ROWS), np.append(coverage.starts[1:], ROWS) - 1)
    ended = replace(coverage, terminals=ends, timeouts=np.zeros(ROWS, dtype=bool))
    np.testing.assert_array_equal(
        ratios(tiny(), (ended, expert), tmp_path), arrays_of(run / "ratios.h5")["log_w_skills"]
    )


def test_the_divergence_changes_expert_and_skills(data: Data, run: Path, tmp_path: Path) -> None:
    """With the same random numbers, chi2 gives other weights."""
    ratios(tiny(divergence="chi2"), data, tmp_path)
    for name, array in arrays_of(tmp_path / "ratios.h5").items():
        assert np.abs(array - arrays_of(run / "ratios.h5")[name]).max() > 1e-3


def test_van_der_waals_needs_no_discriminator(data: Data, tmp_path: Path) -> None:
    """The metrics contain the distance of mean features instead of an accuracy."""
    ratios(tiny(diversity="van_der_waals"), data, tmp_path)
    lines = metrics_of(tmp_path)
    assert lines[0]["skills/distance"] > 0
    assert not any("discriminator" in name for line in lines for name in line)
    assert "held_out_accuracy" not in summary_of(tmp_path)


def test_one_projection_serves_classifier_and_discriminator(data: Data, tmp_path: Path) -> None:
    """The result equals that of the same terms for both networks."""
    terms = ("angular_velocity.z", "linear_velocity")
    apart = changed(tiny(), "classifier", terms=terms)
    apart = changed(apart, "discriminator", terms=terms, swing_terms=())
    one = ratios(tiny(projection=terms), data, tmp_path / "one")
    np.testing.assert_array_equal(one, ratios(apart, data, tmp_path / "apart"))
    assert (one != ratios(tiny(), data, tmp_path / "default")).any()


def test_truncation_caps_the_largest_ratios(data: Data, tmp_path: Path) -> None:
    """With truncation a tenth of the rows share the largest weight.

    Without it the weights differ.
    """
    for truncation, share in ((0.9, 0.1), (1.0, 0.0)):
        log_w = ratios(tiny(truncation=truncation), data, tmp_path / str(truncation))
        tied = (log_w == log_w.max(axis=1, keepdims=True)).sum(axis=1) - 1
        np.testing.assert_array_equal(tied, [round(share * ROWS)] * 3)


def test_the_discriminator_is_held_in_the_last_steps(data: Data, tmp_path: Path) -> None:
    """With a hold of 0.5, the last two of four steps do not train it."""
    ratios(changed(tiny(), "discriminator", hold=0.5), data, tmp_path)
    assert ["loss/discriminator" in line for line in metrics_of(tmp_path)] == [
        True,
        True,
        False,
        False,
    ]


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
    """Ratios do not depend on policies, unless policies draw random numbers in the loop."""
    config = tiny(policy=replace(POLICIES[name], updates=5, expert_updates=5, hidden=8, batch=32))
    log_w = ratios(config, data, tmp_path)
    if not config.policy.in_loop:
        np.testing.assert_array_equal(log_w, arrays_of(run / "ratios.h5")["log_w_skills"])
    expert, same = (arrays_of(path / "ratios.h5")["log_w_expert"] for path in (tmp_path, run))
    np.testing.assert_array_equal(expert, same)
    assert (arrays_of(tmp_path / "policy.h5")["head"] != arrays_of(run / "policy.h5")["head"]).any()
    assert SkillPolicy.read(tmp_path / "policy.h5").num_skills == 3
    assert SkillPolicy.read(tmp_path / "policy.h5").squashed == config.policy.squashed
    assert SkillPolicy.read(tmp_path / "expert.h5").num_skills == 1
    assert ("loss/policy" in metrics_of(tmp_path)[-1]) == config.policy.in_loop


@pytest.mark.parametrize("name", ["in loop", "in loop as printed"])
def test_policies_learn_in_the_loop(data: Data, tmp_path: Path, name: str) -> None:
    """The loss falls from step to step and ends below that of policies with a tiny learning rate.

    The written policy has changed.
    """
    heads, losses = [], []
    for lr in (1e-2, 1e-12):
        policy = replace(POLICIES[name], expert_updates=5, hidden=8, lr=lr)
        ratios(tiny(outer=40, policy=policy, data_pull=1.0), data, tmp_path / str(lr))
        heads.append(arrays_of(tmp_path / str(lr) / "policy.h5")["head"])
        losses.append(metrics_of(tmp_path / str(lr))[-1]["loss/policy"])
    assert losses[0] < metrics_of(tmp_path / "0.01")[0]["loss/policy"] - 0.1
    assert losses[0] < losses[1] - 0.1
    assert np.abs(heads[0] - heads[1]).max() > 0.1


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("objective", ["doi", "smodice"])
def test_the_experts_policy_has_updates_of_its_own_where_skills_are_trained_in_the_loop(
    data: Data, tmp_path: Path, objective: str, in_loop: bool
) -> None:
    """In the loop only `expert_updates` changes the expert's policy.

    After it only `updates` does.
    """
    experts = []
    for name, updates in (
        ("both", {}),
        ("after", {"updates": 9}),
        ("expert", {"expert_updates": 9}),
    ):
        train(
            changed(tiny(objective=objective), "policy", in_loop=in_loop, **updates),
            *data,
            tmp_path / name,
        )
        experts.append(arrays_of(tmp_path / name / "expert.h5")["head"])
    both, after, expert = experts
    assert np.array_equal(both, after) == in_loop
    assert np.array_equal(both, expert) != in_loop


def test_the_expert_beside_skills_in_the_loop_is_cloned_from_its_own_ratios(
    data: Data, tmp_path: Path
) -> None:
    """Cloning by hand, from the state at the end of the loop, gives the same policy."""
    config = changed(tiny(), "policy", in_loop=True, expert_updates=9)
    train(config, *data, tmp_path)
    training = Training(config, *data, RunStore(tmp_path))
    state = RunStore(tmp_path).read_state()
    assert state is not None
    expert = training.load(state).expert
    options = replace(config.policy, updates=9)
    network = clone(
        training.problem, expert.log_w[None], options, training.generator, lambda _: None
    )
    training.policy(network, slice(None)).write(tmp_path / "by_hand.h5")
    written = arrays_of(tmp_path / "expert.h5")
    for name, array in arrays_of(tmp_path / "by_hand.h5").items():
        np.testing.assert_array_equal(array, written[name])
