"""The locomotion task: observations of a policy, and physics that change between episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import UnknownNameError
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.solo12.observation import Inputs
from solo_doi.tasks.locomotion import FORWARD, LocomotionTask
from solo_doi.tasks.randomisation import PRESETS

from .locomotion import SLICES, Make, random_actions, still


def test_without_randomisation_the_observation_is_the_true_state(
    make: Make,
) -> None:
    """Without noise and bias, the observation is exact."""
    task = make()
    action = random_actions(3, 1)[0]
    step = task.step(action)
    inputs = Inputs(motion=step.state, previous_action=action, command=task.command)
    np.testing.assert_array_equal(step.observation, task.layout.build(inputs))
    np.testing.assert_array_equal(
        step.observation[:, SLICES["previous_action"]], action.astype(np.float32)
    )
    np.testing.assert_array_equal(step.observation[:, SLICES["command"]], np.tile(FORWARD, (3, 1)))


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register a preset with sensor bias but neither noise nor pushes; return its name."""
    quiet = replace(PRESETS["robust"], observation_noise=False, push_interval=float("inf"))
    monkeypatch.setitem(PRESETS, "biased", quiet)
    return "biased"


def sensor_error(task: LocomotionTask) -> np.ndarray:
    """Return the observation minus the true values."""
    inputs = Inputs(
        motion=task.simulator.state(), previous_action=task.previous_action, command=task.command
    )
    return task.observe() - task.layout.build(inputs)


def test_sensor_bias_is_constant_within_an_episode_and_new_in_the_next(
    make: Make, biased: str
) -> None:
    """A misaligned IMU stays misaligned during a walk."""
    task = make(randomisation=biased, episode_steps=6, early_end=False, standing_share=1.0)
    first = sensor_error(task)
    assert first[:, SLICES["gravity"]].all()
    assert not first[:, SLICES["command"]].any()
    for _ in range(5):
        task.step(still(task))
        np.testing.assert_allclose(sensor_error(task), first, atol=1e-5)
    task.step(still(task))
    assert (np.abs(sensor_error(task) - first)[:, SLICES["gravity"]] > 1e-5).all()


def test_noise_is_new_at_every_look_where_the_preset_has_it(make: Make) -> None:
    """The same state gives two observations with `paper`, and equal ones with `none`."""
    noisy, clean = make(randomisation="paper"), make(randomisation="none")
    assert (noisy.observe() != noisy.observe())[:, SLICES["linear_velocity"]].all()
    np.testing.assert_array_equal(clean.observe(), clean.observe())


def test_a_new_episode_is_in_new_physics_and_the_others_keep_theirs(make: Make) -> None:
    """Friction, mass and lag are drawn per episode."""
    task = make(randomisation="robust", episode_steps=5)
    task.age[:] = 0, 4, 0
    before = task.simulator.domain
    task.step(still(task))
    for name in PRESETS["robust"].domain:
        changed = getattr(task.simulator.domain, name) != getattr(before, name)
        assert changed.tolist() == [False, True, False], name


def test_pushes_come_at_random_with_the_presets_mean_interval_and_size(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean interval is ten steps.

    50 robots get 100 pushes in 20 steps, within five standard deviations of 9.5.
    """
    monkeypatch.setitem(PRESETS, "rough", replace(PRESETS["none"], push_interval=10 * CONTROL_DT))
    task = make(50, randomisation="rough", early_end=False)
    kicks: list[tuple[np.ndarray, ...]] = []
    monkeypatch.setattr(task.simulator, "kick", lambda *arguments: kicks.append(arguments))
    for _ in range(20):
        task.step(still(task))
    robots, linear, angular = (np.concatenate(part) for part in zip(*kicks, strict=True))
    assert abs(len(robots) - 100) < 48
    assert len(set(robots)) > 25
    for kick in (linear, angular):
        assert kick.shape == (len(robots), 3)
        assert 0.45 < np.abs(kick).max() <= 0.5


def test_no_robot_is_pushed_without_randomisation(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infinite interval means no pushes."""
    task = make()
    monkeypatch.setattr(task.simulator, "kick", lambda *arguments: pytest.fail("pushed"))
    for _ in range(20):
        task.step(still(task))


def test_an_unknown_preset_is_refused(make: Make) -> None:
    """The error comes before the simulation."""
    with pytest.raises(UnknownNameError, match="paper"):
        make(randomisation="papers")
