"""Random draws of every episode."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.common.errors import UnknownNameError
from solo_doi.sim.domain import NOMINAL
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.randomisation import PRESETS, randomisation

LAYOUT = LAYOUTS["locomotion"]
DRAWS = 4000


@pytest.mark.parametrize("preset", PRESETS)
def test_draws_stay_within_their_ranges_and_fill_them(preset: str) -> None:
    """4000 uniform draws miss an outer hundredth of the range with probability 4e-18."""
    domain = PRESETS[preset].draw_domain(DRAWS, np.random.default_rng(0))
    for name, nominal in NOMINAL.items():
        low, high = PRESETS[preset].domain.get(name, (nominal, nominal))
        values = getattr(domain, name)
        assert low <= values.min() <= low + (high - low) / 100, name
        assert high - (high - low) / 100 <= values.max() <= high, name


@pytest.mark.parametrize("preset", ["paper", "robust"])
def test_parameters_are_drawn_independently(preset: str) -> None:
    """For example, mass and friction are independent.

    Correlations of 4000 draws stay below 6 / sqrt(4000).
    """
    domain = PRESETS[preset].draw_domain(DRAWS, np.random.default_rng(0))
    correlation = np.corrcoef([getattr(domain, name) for name in PRESETS[preset].domain])
    assert np.abs(correlation - np.eye(len(correlation))).max() < 6 / np.sqrt(DRAWS)


def test_none_is_the_nominal_robot_with_perfect_sensors() -> None:
    """The preset is for pictures and comparisons."""
    preset, rng = PRESETS["none"], np.random.default_rng(0)
    domain = preset.draw_domain(5, rng)
    for name, nominal in NOMINAL.items():
        np.testing.assert_array_equal(getattr(domain, name), nominal)
    np.testing.assert_array_equal(preset.draw_bias(5, LAYOUT, rng), 0.0)
    assert not preset.observation_noise
    assert preset.push_interval == float("inf")


def test_paper_has_the_values_of_the_paper() -> None:
    """Friction 0.5 to 1.5, base mass +-0.5 kg, lag 15 ms, noise, pushes of 0.5 m/s every 15 s.

    Other parameters are nominal.
    """
    preset = PRESETS["paper"]
    assert preset.domain == {"friction": (0.5, 1.5), "added_mass": (-0.5, 0.5)}
    assert set(preset.draw_domain(3, np.random.default_rng(0)).motor_lag) == {0.015}
    assert preset.observation_noise
    assert (preset.push_interval, preset.push_velocity) == (15.0, 0.5)
    assert not preset.sensor_bias


def test_robust_contains_the_paper_and_the_transfer_parameters() -> None:
    """Rotor inertia, gains, lag and sensor errors vary in ranges that include a real Solo12."""
    preset = PRESETS["robust"]
    assert PRESETS["paper"].domain.items() <= preset.domain.items()
    assert preset.domain["armature"] == (0.0, 1e-3)
    assert preset.domain["motor_lag"] == (0.010, 0.025)
    assert preset.domain["kp_scale"] == preset.domain["kd_scale"] == (0.9, 1.1)
    assert {"linear_velocity", "joint_position", "gravity", "angular_velocity"} == set(
        preset.sensor_bias
    )


def test_fields_that_an_engine_cannot_vary_stay_nominal_and_the_others_are_as_drawn() -> None:
    """The same seed gives the same robots in both engines, except for unsupported parameters."""
    free, fixed = (
        PRESETS["robust"].draw_domain(50, np.random.default_rng(1), fixed=fields)
        for fields in (frozenset(), frozenset({"armature", "motor_lag"}))
    )
    np.testing.assert_array_equal(fixed.armature, NOMINAL["armature"])
    np.testing.assert_array_equal(fixed.motor_lag, NOMINAL["motor_lag"])
    for name in ("friction", "added_mass", "kp_scale", "kd_scale"):
        np.testing.assert_array_equal(getattr(fixed, name), getattr(free, name))


def test_bias_falls_on_the_named_terms_only_within_their_bounds() -> None:
    """Commands and previous actions are exact.

    Joint velocities have no bias in any preset.
    """
    preset = PRESETS["robust"]
    bias = preset.draw_bias(DRAWS, LAYOUT, np.random.default_rng(0))
    assert bias.shape == (DRAWS, 48)
    assert bias.dtype == np.float32
    for term, place in LAYOUT.slices.items():
        largest = np.float32(preset.sensor_bias.get(term, 0.0))
        spread = np.abs(bias[:, place]).max(axis=0)
        assert (spread <= largest).all(), term
        assert (spread >= 0.99 * largest).all(), term


def test_biases_of_a_robot_differ_between_axes() -> None:
    """A misaligned IMU has different tilts about both axes."""
    bias = PRESETS["robust"].draw_bias(1, LAYOUT, np.random.default_rng(0))[
        0, LAYOUT.slices["gravity"]
    ]
    assert len(set(bias)) == 3


def test_the_same_seed_draws_the_same_robots() -> None:
    """The seed reproduces a trajectory."""
    one, same, other = (
        PRESETS["robust"].draw_domain(9, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.friction, same.friction)
    assert (one.friction != other.friction).all()


def test_an_unknown_preset_names_the_nearest_one() -> None:
    """A misspelt name must not start a run."""
    with pytest.raises(UnknownNameError, match="Did you mean 'robust'"):
        randomisation("robusst")


def test_hard_domains_contain_the_robust_ones() -> None:
    """Policies that are trained in `hard` domains have a margin in `robust` ones."""
    hard = PRESETS["hard"]
    robust = PRESETS["robust"]
    for name, (low, high) in robust.domain.items():
        assert hard.domain[name][0] <= low < high <= hard.domain[name][1], name
    assert hard.sensor_bias == robust.sensor_bias
    assert hard.push_interval < robust.push_interval
    assert hard.push_velocity > robust.push_velocity
