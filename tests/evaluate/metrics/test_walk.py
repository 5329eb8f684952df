"""Measures of walks, on recordings with known numbers."""

from __future__ import annotations

from dataclasses import replace
from math import e

import numpy as np
import pytest

from solo_doi.evaluate.metrics.walk import SETTLED, SLOWEST, interval, measure, successor_features
from solo_doi.evaluate.rollouts.recording import Recording
from tests.evaluate.recordings import walking
from tests.evaluate.walks import made_up_walk

STEPS = 150


def trotting(robots: int = 3) -> Recording:
    """Robots that trot at exactly 1 m/s."""
    return walking("trot", STEPS, robots)


@pytest.mark.parametrize(
    ("velocity", "expected"), [(1.0, 1.0), (1.3, 1 / e), (0.7, 1 / e), (0.4, e**-4)]
)
def test_the_return_is_one_at_the_commanded_velocity_and_falls_off(
    velocity: float, expected: float
) -> None:
    """exp(-((vx - commanded) / 0.3)^2): too fast counts as too slow."""
    recording = trotting()
    recording.linear_velocity_b[..., 0] = velocity
    np.testing.assert_allclose(measure(recording, 1.0).reward, expected)


def test_the_return_follows_the_command() -> None:
    """Half a metre per second is right if that was commanded."""
    recording = trotting()
    recording.linear_velocity_b[..., 0] = 0.5
    np.testing.assert_allclose(measure(recording, 0.5).reward, 1.0)


def test_the_return_counts_the_whole_episode_and_the_velocity_does_not() -> None:
    """A robot that is 0.3 m/s off in its first second, and right after that."""
    recording = trotting()
    recording.linear_velocity_b[:SETTLED, 1, 0] = 0.7
    walk = measure(recording, 1.0)
    np.testing.assert_allclose(walk.reward, [1.0, (SETTLED / e + STEPS - SETTLED) / STEPS, 1.0])
    np.testing.assert_allclose(walk.vx, 1.0)


def test_sideways_motion_has_no_part_in_the_return() -> None:
    """Only the forward velocity in the base's frame counts."""
    recording = trotting()
    recording.linear_velocity_b[..., 1:] = 5.0
    np.testing.assert_allclose(measure(recording, 1.0).reward, 1.0)


def test_heights_are_of_the_settled_robot() -> None:
    """Mean 0.3 and deviation 0.01 over time; the drop in the first second is left out."""
    recording = trotting()
    recording.position_w[:, 0, 2] = 0.3 + 0.01 * (-1.0) ** np.arange(STEPS)
    recording.position_w[:SETTLED, 0, 2] = 0.1
    walk = measure(recording, 1.0)
    assert walk.height_mean[0] == pytest.approx(0.3)
    assert walk.height_std[0] == pytest.approx(0.01)


def test_the_gait_is_measured() -> None:
    """Feet that trot at 3 Hz and are lifted by almost 6 cm."""
    walk = measure(trotting(), 1.0)
    np.testing.assert_allclose(walk.frequency, 3.0)
    np.testing.assert_allclose(walk.pair_phase, 0.5, atol=0.01)
    np.testing.assert_allclose(walk.diagonal_phase, 0.0, atol=0.01)
    assert (walk.clearance > 0.05).all()
    assert (walk.clearance < 0.06).all()


def test_power_by_hand() -> None:
    """2 Nm x -3 rad/s and 0.5 Nm x 4 rad/s are 8 W regardless of signs, in two of three steps."""
    recording = trotting(1)
    recording.torque[::3, 0, [0, 7]] = recording.torque[1::3, 0, [0, 7]] = [2.0, 0.5]
    recording.joint_velocity[:, 0, [0, 7]] = [-3.0, 4.0]
    np.testing.assert_allclose(measure(recording, 1.0).power, 8 * 2 / 3)


def test_energy_is_power_by_distance() -> None:
    """20 W at 0.5 m/s are 40 J/m; of a robot that stands still it stays a number."""
    assert made_up_walk(spread=0.0, power=20.0, vx=0.5).averages()["energy"] == pytest.approx(40.0)
    assert made_up_walk(spread=0.0, power=20.0, vx=0.0).averages()["energy"] == pytest.approx(
        20 / SLOWEST
    )


# --- Fallen robots -------------------------------------------------------------------------------


def test_robots_that_fell_have_no_part_in_the_shape_of_the_walk() -> None:
    """But in return, velocity and power; a fall at any step is a fall."""
    recording = trotting()
    recording.fallen[7, 2] = True
    recording.position_w[:, 2, 2] = 0.05
    recording.foot_position_w[:, 2] = 0.0
    recording.linear_velocity_b[:, 2, 0] = 0.7
    walk = measure(recording, 1.0)
    assert walk.fallen.tolist() == [False, False, True]
    means, others = walk.averages(), measure(trotting(), 1.0).averages()
    assert means["falls"] == 1
    for name in (
        "height_mean",
        "height_std",
        "clearance",
        "frequency",
        "diagonal_phase",
        "pair_phase",
    ):
        assert means[name] == pytest.approx(others[name]), name
    assert means["return"] == pytest.approx((2 + 1 / e) / 3)
    assert means["vx"] == pytest.approx(2.7 / 3)


def test_if_all_fell_all_count() -> None:
    """There is no one else to average over."""
    recording = trotting()
    recording.fallen[0] = True
    recording.position_w[..., 2] = [0.05, 0.06, 0.10]
    means = measure(recording, 1.0).averages()
    assert means["falls"] == 3
    assert means["height_mean"] == pytest.approx(0.07)


def test_intervals_are_over_the_robots_that_the_averages_are_over() -> None:
    """A fallen robot widens the interval of velocities, not of heights."""
    fallen = np.arange(8) == 3
    walk = made_up_walk(fallen=fallen)
    walk.height_mean[fallen], walk.vx[fallen] = 0.02, 0.0
    means, intervals = walk.averages(), walk.intervals(made_up_walk())
    gait = {"height_mean", "height_std", "clearance", "frequency", "diagonal_phase", "pair_phase"}
    assert intervals.keys() == {"return", "return_pct", "vx", "energy"} | gait
    low, high = intervals["height_mean"]
    assert 0.24 < low <= means["height_mean"] <= high
    assert intervals["vx"][0] < 0.8


def test_phases_are_medians() -> None:
    """One robot that stumbles does not change them."""
    walk = made_up_walk(robots=5, spread=0.0)
    walk.pair_phase[0], walk.frequency[1] = 0.0, 8.0
    assert walk.averages()["pair_phase"] == 0.5
    assert walk.averages()["frequency"] == 3.0


# --- Successor features --------------------------------------------------------------------------


def shortened(recording: Recording, steps: int) -> Recording:
    """Only the first steps."""
    return replace(recording, **{name: values[:steps] for name, values in vars(recording).items()})


@pytest.mark.parametrize("steps", [1, 2, 40, STEPS])
def test_what_never_changes_is_its_own_successor_feature(steps: int) -> None:
    """However long the episode is: velocities, gravity, joints, in this order."""
    recording = shortened(trotting(2), steps)
    found = successor_features(recording)
    assert found.shape == (2, 33)
    joints = recording.joint_position[0, 0]
    np.testing.assert_allclose(
        found, np.tile([1, 0, 0, 0, 0, 0, 0, 0, -1, *joints, *np.zeros(12)], (2, 1)), atol=1e-12
    )


def test_successor_features_by_hand() -> None:
    """Two steps, 1 and then 3: (1 + 0.99 x 3) / 1.99."""
    recording = shortened(trotting(2), 2)
    recording.angular_velocity_b[:, 1, 2] = [1.0, 3.0]
    recording.joint_velocity[:, 1, 11] = [3.0, 1.0]
    found = successor_features(recording)
    np.testing.assert_allclose(found[:, 5], [0.0, 3.97 / 1.99])
    np.testing.assert_allclose(found[:, 32], [0.0, 3.99 / 1.99])


# --- Intervals of a walk ------------------------------------------------------------------------


def test_returns_are_compared_with_the_experts_robot_by_robot() -> None:
    """Half the expert's return in every domain has no interval, although domains differ."""
    expert = made_up_walk(spread=0.2, reward=0.8)
    half = replace(made_up_walk(), reward=expert.reward / 2)
    assert half.intervals(expert)["return_pct"] == pytest.approx((50.0, 50.0))
    low, high = half.intervals(made_up_walk(spread=0.2, seed=1, reward=0.8))["return_pct"]
    assert high - low > 5


def test_energy_has_an_interval_of_the_ratio_of_averages() -> None:
    """Power that follows velocity leaves no doubt of the energy per metre, other power does.

    It is finite at rest.
    """
    walk = made_up_walk(spread=0.1)
    even = replace(walk, power=20 * walk.vx)
    assert even.intervals(walk)["energy"] == pytest.approx((20.0, 20.0))
    uneven = made_up_walk(spread=0.0)
    uneven.power[::2] = 30.0
    low, high = uneven.intervals(walk)["energy"]
    assert low < 24.9 < uneven.averages()["energy"] < 25.1 < high
    assert np.isfinite(made_up_walk(vx=0.0, spread=0.0).intervals(walk)["energy"]).all()


def test_the_interval_of_a_phase_is_that_of_its_median() -> None:
    """One of thirty robots that stumbles moves neither."""
    walk = made_up_walk(robots=30, spread=0.0)
    walk.pair_phase[0] = 0.0
    assert walk.intervals(walk)["pair_phase"] == (0.5, 0.5)


# --- Intervals -----------------------------------------------------------------------------------


def test_an_interval_is_that_of_a_mean() -> None:
    """It holds the mean, and is as wide as 1.96 standard errors to either side."""
    values = np.random.default_rng(0).normal(2.0, 0.5, 400)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(400), rel=0.1)


def test_an_interval_is_the_same_for_the_same_seed() -> None:
    """And almost the same for another."""
    values = np.random.default_rng(0).normal(size=30)
    assert interval(values, seed=3) == interval(values, seed=3)
    assert interval(values, seed=3) != interval(values, seed=4)
    np.testing.assert_allclose(interval(values, seed=3), interval(values, seed=4), atol=0.05)


def test_more_robots_narrow_an_interval() -> None:
    """A hundred times as many, a tenth as wide."""
    values = np.random.default_rng(0).normal(size=2000)
    widths = [float(np.diff(interval(values[:count]))[0]) for count in (20, 2000)]
    assert widths[1] == pytest.approx(widths[0] / 10, rel=0.5)


def test_without_spread_there_is_no_interval() -> None:
    """Both ends are the number itself."""
    assert interval(np.full(5, 0.25)) == (0.25, 0.25)
