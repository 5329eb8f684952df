"""Random numbers of an episode, drawn from its own seed."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from solo_doi.sim.domain import NOMINAL
from solo_doi.solo12.constants import CONTROL_DT, CONTROL_SETUPS
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.episode import Draws, Seed, draw_episodes
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.randomisation import PRESETS

LAYOUT = LAYOUTS["locomotion"]
ROBUST = PRESETS["robust"]
STEPS = 20


def draw(*seeds: Seed, standing: bool = False, steps: int = STEPS, preset: str = "robust") -> Draws:
    """Draw episodes of these seeds."""
    return draw_episodes(
        LocomotionTask, seeds, np.full(len(seeds), standing), steps, PRESETS[preset]
    )


def numbers(draws: Draws, episode: int) -> dict[str, np.ndarray]:
    """Return all draws of one episode, by name."""
    domain = {f"domain.{name}": getattr(draws.domain, name)[episode] for name in NOMINAL}
    motion = {
        f"motion.{field.name}": getattr(draws.motion, field.name)[episode]
        for field in fields(draws.motion)
    }
    per_step = {name: getattr(draws, name)[:, episode] for name in ("noise", "action", "kick")}
    return domain | motion | per_step | {"bias": draws.bias[episode]}


@pytest.mark.parametrize("episode", [0, 1, 2])
def test_an_episode_alone_gets_the_numbers_it_gets_in_a_batch(episode: int) -> None:
    """The draws are equal to the last bit, so datasets can be made in parts of any size."""
    seeds = ((1, 0, 0), (1, 0, 1), (7, 1, 12))
    batch, alone = numbers(draw(*seeds), episode), numbers(draw(seeds[episode]), 0)
    for name, values in batch.items():
        np.testing.assert_array_equal(values, alone[name], err_msg=name)


@pytest.mark.parametrize("seed", [(2, 0, 0), (1, 1, 0), (1, 0, 1)])
def test_another_seed_source_or_number_is_another_episode(seed: Seed) -> None:
    """All draws differ."""
    one, other = (numbers(draw(seed_, steps=500), 0) for seed_ in ((1, 0, 0), seed))
    same = {name for name in one if np.array_equal(one[name], other[name])}
    assert same == {
        "motion.base_quaternion",
        "motion.joint_velocity",
    }  # level and at rest in every episode


def test_the_start_does_not_change_the_other_draws() -> None:
    """Physics, noise and pushes depend only on the seed, for standing and dropped robots."""
    one, other = (numbers(draw((1, 0, 0), standing=standing), 0) for standing in (True, False))
    same = {name for name in one if np.array_equal(one[name], other[name])}
    assert same >= {f"domain.{name}" for name in NOMINAL} | {"bias", "noise", "action", "kick"}


def test_shapes_are_steps_by_episodes() -> None:
    """There is one more observation than actions, for the last state."""
    draws = draw((1, 0, 0), (1, 0, 1), (1, 0, 2))
    assert draws.noise.shape == (STEPS + 1, 3, LAYOUT.size)
    assert draws.action.shape == (STEPS, 3, 12)
    assert draws.kick.shape == (STEPS, 3, 6)
    assert draws.bias.shape == (3, LAYOUT.size)
    assert len(draws.domain) == 3
    assert {array.dtype for array in (draws.noise, draws.action, draws.bias)} == {
        np.dtype(np.float32)
    }


def test_noise_fills_the_amplitude_of_every_term_and_never_exceeds_it() -> None:
    """4000 uniform draws miss an outer hundredth with probability 4e-18.

    Commands and actions are known exactly.
    """
    noise = draw((1, 0, 0), steps=4000).noise[:, 0]
    largest = np.abs(noise).max(axis=0)
    assert (largest <= LAYOUT.noise).all()
    assert (largest >= 0.99 * LAYOUT.noise).all()
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=6 * 1.0 / np.sqrt(3 * 4000))


def test_exploration_is_standard_normal() -> None:
    """The policy scales the noise."""
    action = draw((1, 0, 0), steps=4000).action
    assert action.mean() == pytest.approx(0.0, abs=6 / np.sqrt(action.size))
    assert action.std() == pytest.approx(1.0, abs=0.02)


def test_without_randomisation_only_exploration_remains() -> None:
    """Physics are nominal, sensors perfect, and there are no pushes."""
    draws = draw((1, 0, 0), preset="none", steps=200)
    for name, nominal in NOMINAL.items():
        np.testing.assert_array_equal(getattr(draws.domain, name), nominal)
    assert not draws.noise.any()
    assert not draws.bias.any()
    assert not draws.kick.any()
    assert draws.action.std() > 0.9


def test_domains_stay_within_the_preset() -> None:
    """This holds for every parameter of 200 episodes."""
    domain = draw(*((1, 0, number) for number in range(200)), steps=1).domain
    for name, nominal in NOMINAL.items():
        low, high = ROBUST.domain.get(name, (nominal, nominal))
        values = getattr(domain, name)
        assert (values >= low).all(), name
        assert (values <= high).all(), name
        assert low == high or len(np.unique(values)) == 200, name


def test_unsupported_parameters_stay_nominal() -> None:
    """The same seed gives the same robot in both engines, except for unsupported parameters."""
    seeds, standing = [(1, 0, 0), (1, 0, 1)], np.zeros(2, dtype=bool)
    free = draw_episodes(LocomotionTask, seeds, standing, STEPS, ROBUST)
    fixed = draw_episodes(LocomotionTask, seeds, standing, STEPS, ROBUST, frozenset({"armature"}))
    np.testing.assert_array_equal(fixed.domain.armature, NOMINAL["armature"])
    np.testing.assert_array_equal(fixed.domain.friction, free.domain.friction)
    np.testing.assert_array_equal(fixed.noise, free.noise)


def test_pushes_come_at_the_presets_rate_and_size() -> None:
    """Pushes come every 4 s on average: 1000 in 200,000 control steps, within six deviations."""
    kick = draw(*((1, 0, number) for number in range(50)), steps=4000).kick
    pushed = kick.any(axis=-1)
    expected = pushed.size * CONTROL_DT / ROBUST.push_interval
    assert pushed.sum() == pytest.approx(expected, abs=6 * np.sqrt(expected))
    assert np.abs(kick).max() <= ROBUST.push_velocity
    assert np.abs(kick[pushed]).max() > 0.99 * ROBUST.push_velocity


def test_standing_robots_are_at_rest_on_the_ground_and_the_others_are_not() -> None:
    """Each episode has its requested start."""
    seeds, standing = [(1, 0, number) for number in range(8)], np.arange(8) % 4 == 0
    motion = draw_episodes(LocomotionTask, seeds, standing, 1, ROBUST).motion
    height = CONTROL_SETUPS["locomotion"].standing_height
    np.testing.assert_array_equal(motion.base_position_w[standing, 2], height)
    assert not motion.linear_velocity_b[standing].any()
    assert (motion.base_position_w[~standing, 2] > height).all()
    assert motion.linear_velocity_b[~standing].any(axis=1).all()


def test_a_preset_without_noise_draws_the_same_physics() -> None:
    """Noise is drawn after the physics, so its absence does not change the robot."""
    quiet = replace(ROBUST, observation_noise=False)
    one, other = (
        draw_episodes(LocomotionTask, [(1, 0, 0)], np.zeros(1, dtype=bool), STEPS, preset)
        for preset in (ROBUST, quiet)
    )
    assert numbers(one, 0)["domain.friction"] == numbers(other, 0)["domain.friction"]
    assert not other.noise.any()
