"""The locomotion task: equal seeds and saved states give equal episodes, to the last bit."""

from __future__ import annotations

import numpy as np

from solo_doi.tasks.locomotion import LocomotionConfig, LocomotionTask

from .locomotion import Make, differences, random_actions


def test_the_same_seed_gives_the_same_episodes(make: Make) -> None:
    """Over 30 stumbling steps with ends of episodes, all bits are equal; another seed differs."""
    options = {
        "randomisation": "robust",
        "episode_steps": 20,
        "forward_share": 0.5,
        "command_steps": 7,
    }
    one, same, other = (make(4, seed=seed, **options) for seed in (5, 5, 6))
    ended = 0
    for action in random_actions(4, 30):
        step = one.step(action)
        assert not differences(step, same.step(action))
        assert "observation" in differences(step, other.step(action))
        ended += (step.timed_out | step.fallen).sum()
    assert ended >= 4


def test_a_task_continues_from_its_saved_state(make: Make) -> None:
    """A task takes ten steps, saves and takes ten more.

    Another task that loads the state takes the same ten steps, to the last bit.
    """
    options = {
        "randomisation": "robust",
        "episode_steps": 15,
        "forward_share": 0.5,
        "command_steps": 7,
    }
    rng = np.random.default_rng(5)
    simulator = make(4).simulator
    task = LocomotionTask(simulator, LocomotionConfig(**options), rng)  # type: ignore[arg-type]
    before, after = np.split(random_actions(4, 20), 2)
    for action in before:
        task.step(action)
    saved, generator = task.save(), rng.bit_generator.state
    steps = [task.step(action) for action in after]

    other_rng = np.random.default_rng(77)
    other = LocomotionTask(make(4).simulator, LocomotionConfig(**options), other_rng)  # type: ignore[arg-type]
    other.step(before[0])
    other.load(saved)
    other_rng.bit_generator.state = generator
    for action, step in zip(after, steps, strict=True):
        assert not differences(step, other.step(action))


def test_a_saved_state_does_not_change_while_the_task_continues(make: Make) -> None:
    """It also stays unchanged when another task loads it and continues."""
    task = make(randomisation="robust", episode_steps=6)
    saved = task.save()
    copy = {name: value.copy() for name, value in saved.items()}
    for _ in range(2):
        for action in random_actions(3, 8):
            task.step(action)
        task.load(saved)
    for name, value in copy.items():
        np.testing.assert_array_equal(saved[name], value, err_msg=name)
