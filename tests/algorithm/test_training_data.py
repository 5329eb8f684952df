"""The data of a run as tensors: scales, shared states, held-out trajectories, no labels."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.algorithm.part_configs import ClassifierConfig
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import ACTION_RANGE, Problem, Scale, state_table
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import ShardEntry
from solo_doi.data.shard import checksums, file_hash, write_shard
from solo_doi.data.transitions import Transitions
from tests.data.datasets import made_up_arrays, made_up_manifest

from .small import CPU, EVERYTHING, build, plain_discriminator, ragged, seeded, small_config, table

close = torch.testing.assert_close
LENGTHS = (3, 1, 4)

lengths = st.lists(st.integers(1, 9), min_size=1, max_size=6)


# --- Scales --------------------------------------------------------------------------------------


def test_scale_by_hand() -> None:
    """1 and 3: mean 2, deviation 1. 10 and 30: mean 20, deviation 10."""
    scale = Scale.of(np.array([[1, 10], [3, 30]], dtype=np.float32))
    np.testing.assert_allclose(scale.mean, [2, 20])
    np.testing.assert_allclose(scale.std, [1, 10])
    np.testing.assert_allclose(scale(np.array([[4.0, 0.0]])), [[2, -2]])


def test_an_input_that_never_changes_is_centred_and_not_blown_up() -> None:
    """A constant command of 0.7 becomes zero; distances to other commands stay the same."""
    scale = Scale.of(np.full((1000, 1), 0.7, dtype=np.float32))
    np.testing.assert_allclose(
        scale(np.array([[0.7], [0.9]], dtype=np.float32)), [[0], [0.2]], atol=1e-6
    )


def test_constant_columns_of_the_data_are_finite_in_every_input() -> None:
    """All inputs stay finite for a constant expert and a joint that never moves."""
    states = np.random.default_rng(0).normal(size=(20, 3))
    states[:, 1] = 0.7
    actions = np.random.default_rng(1).normal(size=(20, 2))
    actions[:, 0] = -0.3
    problem = build(table(states, actions, 5))
    for inputs in (
        problem.states,
        problem.classifier_input,
        problem.expert_input,
        problem.discriminator_input,
    ):
        close(inputs[:, 1], torch.zeros(20 + 4 * (inputs is problem.states)), rtol=0, atol=1e-6)
        assert inputs.abs().max() < 5
    close(problem.actions[:, 0], torch.zeros(20))


def test_states_have_mean_zero_and_deviation_one() -> None:
    """The statistics are over the states in which transitions start."""
    problem = build(ragged((30, 50)))
    starts = problem.states[problem.here]
    close(starts.mean(0), torch.zeros(4), rtol=0, atol=1e-6)
    close(starts.std(0, correction=0), torch.ones(4), rtol=1e-5, atol=0)


def test_actions_fill_what_a_tanh_can_reach() -> None:
    """-3 and 1 are the ends of the range, -1 is its middle; the scale restores them."""
    problem = build(table(np.zeros((3, 1)), np.array([[-3.0], [1.0], [-1.0]])))
    close(problem.actions, torch.tensor([[-ACTION_RANGE], [ACTION_RANGE], [0.0]]))
    scale = problem.action_scale
    np.testing.assert_allclose(
        problem.actions.numpy() * scale.std + scale.mean, [[-3], [1], [-1]], rtol=1e-6
    )


def test_expert_is_seen_in_the_datas_scale() -> None:
    """With data at 0 and 2, an expert at 5 is four deviations above the mean."""
    problem = build(table(np.array([[0.0], [2.0]])), expert=table(np.array([[5.0], [5.0]])))
    close(problem.expert_input, torch.full((2, 1), 4.0))


# --- States --------------------------------------------------------------------------------------


@given(lengths, st.booleans())
def test_states_are_those_of_the_data_to_the_last_bit(lengths: list[int], linked: bool) -> None:
    """Start and next states are equal to the data, with states stored once or twice."""
    data = ragged(lengths, linked=linked)
    states, here, there, _ = state_table(data)
    np.testing.assert_array_equal(states[here], data.observations)
    np.testing.assert_array_equal(states[there], data.next_observations)
    once = linked or max(lengths) == 1  # no transition has a next one
    assert len(states) == (len(data) + len(lengths) if once else 2 * len(data))


def test_one_transition_that_leads_elsewhere_is_noticed() -> None:
    """The broken link is the last but one of 70,000, more than one chunk of the comparison."""
    data = table(np.random.default_rng(0).normal(size=(70_000, 1)), length=35_000)
    elsewhere = data.next_observations.copy()
    elsewhere[-2] += 1
    states, here, there, _ = state_table(replace(data, next_observations=elsewhere))
    assert len(state_table(data)[0]) == 70_002
    np.testing.assert_array_equal(states[here], data.observations)
    np.testing.assert_array_equal(states[there], elsewhere)


@pytest.mark.parametrize("linked", [True, False])
def test_tensors_describe_the_transitions(linked: bool) -> None:
    """States, successors and trajectories are normalised by one scale."""
    data = ragged(LENGTHS, linked=linked)
    problem = build(data)
    scale = problem.state_scale
    np.testing.assert_array_equal(problem.states[problem.here], scale(data.observations))
    np.testing.assert_array_equal(problem.states[problem.there], scale(data.next_observations))
    assert problem.first.tolist() == [0, 3, 4]
    assert problem.length.tolist() == [3, 1, 4]
    assert problem.trajectory.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert problem.num_rows == 8


def test_draws_are_even_and_repeatable() -> None:
    """Each of eight rows is drawn 2000 times in 16,000 draws, with a deviation of 42."""
    problem = build(ragged(LENGTHS))
    rows = problem.draw(16_000, seeded(1))
    assert torch.equal(rows, problem.draw(16_000, seeded(1)))
    close(
        torch.bincount(rows, minlength=8).double(),
        torch.full((8,), 2000.0).double(),
        rtol=0,
        atol=200,
    )


# --- What is seen --------------------------------------------------------------------------------


def named_terms(data: Transitions) -> Transitions:
    """Return the data with four numbers as two terms."""
    return replace(data, terms={"velocity": slice(0, 3), "height": slice(3, 4)})


def test_classifier_and_discriminator_see_their_own_terms() -> None:
    """The classifier sees the height, the discriminator two velocities, each in its own scale."""
    data = named_terms(ragged((40, 60)))
    config = TrainConfig(
        classifier=ClassifierConfig(terms=("height",), average=1),
        discriminator=plain_discriminator(terms=("velocity.x", "velocity.y")),
    )
    problem = build(data, config)
    close(problem.classifier_input, problem.states[problem.here][:, 3:])
    close(problem.discriminator_input, problem.states[problem.here][:, :2])


def test_a_projection_holds_for_both() -> None:
    """As in the paper, both networks get the same input."""
    config = replace(small_config(), projection=("velocity.z",))
    problem = build(named_terms(ragged((40, 60))), config)
    close(problem.classifier_input, problem.states[problem.here][:, 2:3])
    close(problem.discriminator_input, problem.classifier_input)


def test_an_average_never_looks_into_another_trajectory_or_ahead() -> None:
    """0, 2, 4 and 10, 12 are averaged over two steps.

    The averages 0, 1, 3, 10, 11 are then scaled to their mean 5 and deviation.
    """
    data = replace(table(np.array([[0.0], [2], [4], [10], [12]])), starts=np.array([0, 3]))
    config = TrainConfig(
        classifier=ClassifierConfig(terms=EVERYTHING, average=1),
        discriminator=plain_discriminator(average=2),
    )
    average = torch.tensor([0.0, 1, 3, 10, 11])
    expected = (average - average.mean()) / average.std(correction=0)
    close(build(data, config).discriminator_input[:, 0], expected)


def test_a_single_step_has_no_swing() -> None:
    """With an average over one step, swing terms are not used: deviations would all be 0."""
    data = named_terms(ragged((40, 60)))
    options = plain_discriminator(terms=("velocity",), swing_terms=("height",))
    config = replace(small_config(), projection=("height",), discriminator=options)
    assert build(data, config).discriminator_input.shape[1] == 1


def test_an_expert_with_a_smaller_state_will_do_if_it_has_the_terms() -> None:
    """The expert comes from another task: height is its first number instead of the fourth.

    It has no actions.
    """
    data = named_terms(ragged((40, 60)))
    expert = replace(table(np.array([[0.5], [0.7]])), actions=None, terms={"height": slice(0, 1)})
    config = replace(small_config(), projection=("height",))
    problem = build(data, config, expert)
    height = data.observations[:, 3]
    expected = (np.array([[0.5], [0.7]]) - height.mean()) / height.std()
    np.testing.assert_allclose(problem.expert_input, expected, rtol=1e-5)


def test_an_expert_without_a_term_is_one_clear_line() -> None:
    """The error names the term and the dataset."""
    data, expert = (
        named_terms(ragged(LENGTHS)),
        replace(ragged(LENGTHS), terms={"height": slice(0, 1)}),
    )
    config = replace(small_config(), projection=("height", "velocity.x"))
    with pytest.raises(SoloError, match="Unknown observation term of the expert data 'velocity'"):
        build(data, config, expert)


def test_a_term_of_another_size_is_one_clear_line() -> None:
    """A height of one number does not match a height of two."""
    data, expert = (
        named_terms(ragged(LENGTHS)),
        replace(ragged(LENGTHS), terms={"height": slice(0, 2)}),
    )
    with pytest.raises(
        SoloError, match="height: 1 numbers in the coverage data, 2 in the expert data"
    ):
        build(data, replace(small_config(), projection=("height",)), expert)


def test_data_without_a_term_are_one_clear_line() -> None:
    """Foreign data have only the term `observation`."""
    with pytest.raises(
        SoloError, match=r"term of the coverage data 'linear_velocity'\. .*Known: observation"
    ):
        build(ragged(LENGTHS), TrainConfig())


def test_coverage_data_without_actions_are_refused() -> None:
    """Cloning needs actions."""
    with pytest.raises(SoloError, match="coverage data have no actions"):
        build(replace(ragged(LENGTHS), actions=None))


# --- Held out ------------------------------------------------------------------------------------


def holding_out(share: float, seed: int = 1) -> Problem:
    """Return a problem with 300 trajectories of 1 to 5 transitions."""
    options = plain_discriminator(held_out=share)
    return build(
        ragged([1 + number % 5 for number in range(300)]),
        small_config(discriminator=options, seed=seed),
    )


def test_whole_trajectories_are_held_out() -> None:
    """Each trajectory is held out as a whole.

    Of 300, the share is 0.3 within four deviations of 8.
    """
    problem = holding_out(0.3)
    rows = torch.zeros(300, dtype=torch.long).index_add(
        0, problem.trajectory, problem.held_out.long()
    )
    assert ((rows == 0) | (rows == problem.length)).all()
    assert abs(int((rows > 0).sum()) - 90) <= 32


def test_held_out_trajectories_depend_on_the_seed_alone() -> None:
    """A larger share contains the trajectories of a smaller one.

    A share of 0 holds out no trajectory.
    """
    few, many, others = (
        holding_out(0.1).held_out,
        holding_out(0.4).held_out,
        holding_out(0.1, seed=2).held_out,
    )
    assert torch.equal(few, holding_out(0.1).held_out)
    assert not torch.equal(few, others)
    assert (few & many).sum() == few.sum() < many.sum()
    assert not holding_out(0.0).held_out.any()


def test_a_single_trajectory_is_not_held_out() -> None:
    """A single trajectory is never held out, for any seed."""
    options = plain_discriminator(held_out=0.5)
    for seed in range(10):
        assert not build(
            ragged((5,)), small_config(discriminator=options, seed=seed)
        ).held_out.any()


# --- Labels --------------------------------------------------------------------------------------


def test_transitions_have_no_place_for_a_label() -> None:
    """Without skill, checkpoint or source, training cannot use labels by accident."""
    names = {field.name for field in fields(Transitions)}
    expected = {
        "observations",
        "next_observations",
        "actions",
        "rewards",
        "terminals",
        "timeouts",
        "starts",
        "terms",
        "joint_names",
    }
    assert names == expected


def write(
    folder: Path, arrays: dict[str, np.ndarray], lengths: list[int], policy: str
) -> Transitions:
    """Write a dataset of one shard and read it back as training does."""
    folder.mkdir()
    arrays["episodes/crc32"] = checksums(
        arrays, arrays["episodes/start"], arrays["episodes/length"]
    )
    write_shard(folder / "shard.h5", arrays)
    entry = ShardEntry("shard.h5", len(lengths), sum(lengths), file_hash(folder / "shard.h5"))
    replace(made_up_manifest([entry]), policies=({"name": policy},)).write(folder)
    return Dataset(folder).transitions()


def test_labels_have_no_effect_on_tensors(tmp_path: Path) -> None:
    """Two datasets differ in skills, checkpoints, commands and all else beside transitions.

    Their tensors are equal.
    """
    lengths = [4, 2, 5]
    arrays = made_up_arrays(np.random.default_rng(0), lengths)
    others = made_up_arrays(np.random.default_rng(1), lengths)
    places = ("episodes/start", "episodes/length")
    labels = [name for name in arrays if "/" in name and name not in places]
    assert {"episodes/skill", "episodes/checkpoint", "episodes/seed"} <= set(labels)
    relabelled = arrays | {name: others[name] for name in labels}
    config = replace(small_config(), projection=("velocity", "joints.x"))
    one, two = (
        Problem.build(data, data, config, CPU)
        for data in (
            write(tmp_path / "one", dict(arrays), lengths, "model_0.pt"),
            write(tmp_path / "two", relabelled, lengths, "model_2000.pt"),
        )
    )
    tensors = [
        field.name
        for field in fields(Problem)
        if isinstance(getattr(one, field.name), torch.Tensor)
    ]
    assert len(tensors) == 11
    for name in tensors:
        assert torch.equal(getattr(one, name), getattr(two, name)), name
