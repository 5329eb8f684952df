"""The locomotion task: values and times of drawn commands."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from solo_doi.tasks.locomotion import FORWARD

from .locomotion import SLICES, Make, still


def test_every_command_is_straight_ahead_by_default(make: Make) -> None:
    """The forward expert gets no other commands."""
    np.testing.assert_array_equal(make(50).command, np.tile([1.0, 0.0, 0.0], (50, 1)))


def test_the_forward_share_of_commands_is_straight_ahead_and_the_rest_fills_its_ranges(
    make: Make,
) -> None:
    """400 draws at 30 % are 120, within five standard deviations of 9."""
    ranges: dict[str, Any] = {
        "command_vx": (-0.5, -0.3),
        "command_vy": (0.1, 0.4),
        "command_yaw": (-0.8, 0.8),
    }
    command = make(400, forward_share=0.3, **ranges).command
    forward = (command == FORWARD).all(axis=1)
    assert abs(forward.sum() - 120) < 45
    for column, (low, high) in enumerate(ranges.values()):
        values, margin = command[~forward, column], 0.05 * (high - low)
        assert low <= values.min() < low + margin
        assert high - margin < values.max() <= high


def test_small_commands_become_zero(make: Make) -> None:
    """Commands with a norm below 0.1 become zero, because slow motion is not worth learning."""
    ranges: dict[str, Any] = {
        "command_vx": (-0.3, 0.3),
        "command_vy": (-0.1, 0.1),
        "command_yaw": (0.0, 0.0),
    }
    norm = np.linalg.norm(make(200, forward_share=0.0, **ranges).command, axis=1)
    assert set(norm[norm < 0.1]) == {0.0}
    assert ((norm >= 0.1) & (norm < 0.2)).any()


def test_commands_spread_from_straight_ahead(make: Make) -> None:
    """At a tenth of the way, commands are a tenth as far from straight ahead as at the end."""
    task = make(300, forward_share=0.0, command_vx=(-0.5, 1.0), command_steps=1, early_end=False)
    task.difficulty = 0.1
    task.step(still(task))
    assert 0.85 <= task.command[:, 0].min() < 0.87
    assert 0.03 < np.abs(task.command[:, 1]).max() <= 0.04


def test_single_commands_keep_one_number(make: Make) -> None:
    """All numbers but one are zero, and each is kept equally often.

    The remaining draws are whole commands.
    """
    command = make(600, forward_share=0.0, single_share=1.0).command
    kept = command != 0
    assert set(kept.sum(1)) == {0, 1}
    assert (kept.sum(0) > 100).all()


def test_commands_are_drawn_again_after_the_given_number_of_steps(make: Make) -> None:
    """Steps 1 to 4 keep the first command, the fifth brings another, the tenth a third."""
    task = make(forward_share=0.0, command_steps=5, early_end=False)
    commands = [task.command.copy()]
    for _ in range(11):
        task.step(still(task))
        commands.append(task.command.copy())
    changed = [bool((after != before).any(axis=1).all()) for before, after in pairwise(commands)]
    assert [step for step, new in enumerate(changed, start=1) if new] == [5, 10]
    for step in (1, 4, 6, 9, 11):
        np.testing.assert_array_equal(commands[step], commands[step - 1])


def test_a_new_command_is_seen_at_the_latest_after_one_step(make: Make) -> None:
    """The command is part of the observation."""
    task = make(forward_share=0.0, command_steps=3, early_end=False)
    for _ in range(4):
        seen = task.step(still(task)).observation
    np.testing.assert_array_equal(seen[:, SLICES["command"]], task.command.astype(np.float32))
