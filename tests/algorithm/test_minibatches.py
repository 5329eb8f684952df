"""Windows of trajectories: equal probability for every transition, with its own next state."""

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
    """Check that split values belong to each transition's own state and next state."""
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
    """Windows of 5 contain each of 15 transitions, in trajectories of 1, 2, 3 and 9, equally often.

    A window in the trajectory of one transition counts it five times. A share then has a relative
    deviation of sqrt(15 / 100,000) = 1.2 %; the bound of 6 % is five of them. Without wrap-around,
    shares would differ by a factor of five.
    """
    problem = build(ragged(LENGTHS))
    rows = sample_windows(problem, 100_000, 5, seeded()).rows
    share = torch.bincount(rows.flatten(), minlength=15) / rows.numel()
    close(share, torch.full((15,), 1 / 15), rtol=0.06, atol=0)


@given(lengths, st.integers(1, 15))
def test_every_place_of_a_piece_holds_every_transition_once(
    lengths: list[int], length: int
) -> None:
    """Over all possible starts of a window, each position holds every transition exactly once."""
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
    """Rows are consecutive; after the last row of a trajectory comes its first."""
    problem = build(ragged(lengths))
    rows = sample_windows(problem, 30, length, seeded()).rows
    trajectory = problem.trajectory[rows]
    assert (trajectory == trajectory[:, :1]).all()
    last = problem.first + problem.length - 1
    after = torch.where(rows == last[trajectory], problem.first[trajectory], rows + 1)
    assert torch.equal(rows[:, 1:], after[:, :-1])


@given(lengths, st.integers(1, 15))
def test_a_transition_has_its_own_next_state(lengths: list[int], length: int) -> None:
    """This includes the last transition of a trajectory and trajectories shorter than a window."""
    assert_joins_the_right_states(build(ragged(lengths)), length)


@given(lengths, st.integers(1, 15))
def test_a_transition_has_its_own_next_state_in_data_that_are_not_linked(
    lengths: list[int], length: int
) -> None:
    """In such data the state of the next transition is a different one."""
    assert_joins_the_right_states(build(ragged(lengths, linked=False)), length)


def test_pieces_are_drawn_from_the_generator() -> None:
    """The same seed gives the same windows; another seed gives others."""
    problem = build(ragged(LENGTHS))
    one, same, other = (sample_windows(problem, 8, 4, seeded(seed)).rows for seed in (3, 3, 4))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
