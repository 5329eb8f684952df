"""Motor lag, against a first-in-first-out queue."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.sim.motor_delay import TargetDelay

DT = 0.005
LONGEST = 0.1


class Queue:
    """One robot's targets, pushed at every physics step; the oldest of `lag + 1` is taken out.

    DOMiNiC implements the lag in this way.
    """

    def __init__(self, lag_steps: int, held: float) -> None:
        """Fill the queue with the target that is held."""
        self.targets = deque([held] * (lag_steps + 1), maxlen=lag_steps + 1)

    def push(self, target: float) -> float:
        """Add the target of this physics step and return the active one."""
        self.targets.append(target)
        return self.targets[0]


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, list[int], int, list[bool]]:
    """Draw decimation, lag of each robot [physics steps], control steps and the time of a reset."""
    lags = draw(st.lists(st.integers(0, round(LONGEST / DT)), min_size=1, max_size=4))
    num_steps = draw(st.integers(1, 30))
    resets = draw(st.lists(st.booleans(), min_size=num_steps, max_size=num_steps))
    return draw(st.integers(1, 8)), lags, num_steps, resets


@given(histories())
def test_delay_equals_a_queue_at_every_physics_step(
    history: tuple[int, list[int], int, list[bool]],
) -> None:
    """Lag and decimation vary, also between robots, with resets in between."""
    decimation, lags, num_steps, resets = history
    robots = np.arange(len(lags))
    delay = TargetDelay(len(lags), DT, decimation, longest_lag=LONGEST)
    delay.set_lag(robots, np.array(lags) * DT)
    delay.reset(robots, np.tile(-1.0 - robots[:, None], 12))
    queues = [Queue(lag, held=-1.0 - robot) for robot, lag in enumerate(lags)]
    for step in range(num_steps):
        if resets[step]:
            delay.reset(np.array([0]), np.full((1, 12), -100.0 - step))
            queues[0] = Queue(lags[0], held=-100.0 - step)
        target = np.tile(step + 0.01 * robots[:, None], 12)
        expected = [
            [queue.push(target[robot, 0]) for _ in range(decimation)]
            for robot, queue in enumerate(queues)
        ]
        np.testing.assert_array_equal(
            delay.push(target), np.tile(np.array(expected)[..., None], 12)
        )


def test_15_ms_at_50_hz_uses_the_new_target_in_the_last_of_four_steps() -> None:
    """Three steps of 5 ms still follow the previous target."""
    delay = TargetDelay(1, DT, 4, longest_lag=LONGEST)
    delay.set_lag(np.array([0]), np.array([0.015]))
    delay.reset(np.array([0]), np.zeros((1, 12)))
    assert delay.push(np.full((1, 12), 1.0))[0, :, 0].tolist() == [0, 0, 0, 1]
    assert delay.push(np.full((1, 12), 2.0))[0, :, 0].tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize(("lag", "steps"), [(0.0124, 2), (0.0126, 3), (0.0149999999, 3)])
def test_lag_is_rounded_to_whole_physics_steps(lag: float, steps: int) -> None:
    """0.015 is not a multiple of 0.005 in binary: truncation would lose a step."""
    delay = TargetDelay(1, DT, 1, longest_lag=LONGEST)
    delay.set_lag(np.array([0]), np.array([lag]))
    delay.reset(np.array([0]), np.zeros((1, 12)))
    given_after = [delay.push(np.ones((1, 12)))[0, 0, 0] for _ in range(5)]
    assert given_after.index(1.0) == steps


def test_targets_are_copied() -> None:
    """A caller may reuse its array without changing queued targets."""
    delay = TargetDelay(1, DT, 1, longest_lag=LONGEST)
    delay.set_lag(np.array([0]), np.array([DT]))
    delay.reset(np.array([0]), np.zeros((1, 12)))
    target = np.ones((1, 12))
    delay.push(target)
    target[:] = 7.0
    np.testing.assert_array_equal(delay.push(target), 1.0)
