"""Trajectory pieces: every transition as likely as any other, with its own next state."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.algorithm.minibatches import sample_windows
from solo_doi.algorithm.training_data import Problem

from .small import build, ragged, seeded

close = torch.testing.assert_close
LENGTHS = (1, 2, 3, 9)

lengths = st.lists(st.integers(1, 12), min_size=1, max_size=6)


def assert_joins_the_right_states(problem: Problem, length: int) -> None:
    """Values of the states, split.

    Those of every transition's own state and of the one it leads to.
    """
    windows = sample_windows(problem, 40, length, seeded(1))
    numbered = windows.states.flatten().expand(2, -1) * torch.tensor([[1], [-1]])  # two skills
    here, there = windows.split(numbered)
    rows = windows.rows.flatten()
    assert here.shape == there.shape == (2, 40 * length)
    close(problem.states[here[0]], problem.states[problem.here[rows]], rtol=0, atol=0)
    close(problem.states[there[0]], problem.states[problem.there[rows]], rtol=0, atol=0)
    assert torch.equal(here[1], -here[0])
    assert torch.equal(there[1], -there[0])


def test_every_transition_is_drawn_as_often() -> None:
    """Of 15 transitions in trajectories of 1, 2, 3 and 9.

    Pieces of 5 hold each a fifteenth of the time.

    A piece that starts in the trajectory of one counts it five times, so its share has a relative
    deviation of sqrt(15 / 100,000) = 1.2 %: 6 % are five of them. Without wrap-around shares would
    differ by a factor of five.
    """
    problem = build(ragged(LENGTHS))
    rows = sample_windows(problem, 100_000, 5, seeded()).rows
    share = torch.bincount(rows.flatten(), minlength=15) / rows.numel()
    close(share, torch.full((15,), 1 / 15), rtol=0.06, atol=0)


@given(lengths, st.integers(1, 15))
def test_every_place_of_a_piece_holds_every_transition_once(
    lengths: list[int], length: int
) -> None:
    """Over all transitions a piece can start from, exactly.

    No place favours the middle of trajectories.
    """
    problem = build(ragged(lengths))
    drawn = sample_windows(problem, 40 * problem.num_rows, length, seeded()).rows
    starts, first = torch.unique(drawn[:, 0], return_inverse=True)
    one_of_each = drawn[[int((first == number).nonzero()[0]) for number in range(len(starts))]]
    assert len(starts) == problem.num_rows
    every = torch.arange(problem.num_rows)
    for place in one_of_each.T:
        assert torch.equal(place.sort().values, every)


@given(lengths, st.integers(1, 15))
def test_pieces_follow_their_trajectory_and_begin_again_at_its_end(
    lengths: list[int], length: int
) -> None:
    """Row after row, from the last of a trajectory to its first, and never into another."""
    problem = build(ragged(lengths))
    rows = sample_windows(problem, 30, length, seeded()).rows
    trajectory = problem.trajectory[rows]
    assert (trajectory == trajectory[:, :1]).all()
    last = problem.first + problem.length - 1
    after = torch.where(rows == last[trajectory], problem.first[trajectory], rows + 1)
    assert torch.equal(rows[:, 1:], after[:, :-1])


@given(lengths, st.integers(1, 15))
def test_a_transition_has_its_own_next_state(lengths: list[int], length: int) -> None:
    """Also the last of a trajectory.

    Where the piece goes on elsewhere, and trajectories shorter than a piece.
    """
    assert_joins_the_right_states(build(ragged(lengths)), length)


@given(lengths, st.integers(1, 15))
def test_a_transition_has_its_own_next_state_in_data_that_are_not_linked(
    lengths: list[int], length: int
) -> None:
    """There the next transition's state is another one."""
    assert_joins_the_right_states(build(ragged(lengths, linked=False)), length)


def test_pieces_are_drawn_from_the_generator() -> None:
    """The same seed draws the same, another seed others."""
    problem = build(ragged(LENGTHS))
    one, same, other = (sample_windows(problem, 8, 4, seeded(seed)).rows for seed in (3, 3, 4))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
