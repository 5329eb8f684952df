"""Measures of walks, on recordings with known numbers."""

from __future__ import annotations

from dataclasses import replace
from math import e

import numpy as np
import pytest

from solo_doi.evaluate.metrics.intervals import wilson
from solo_doi.evaluate.metrics.walk import SETTLED, SLOWEST, measure, successor_features
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.solo12.rotations import from_rpy
from tests.evaluate.recordings import walking
from tests.evaluate.walks import made_up_walk

STEPS = 150
GAIT = (
    "height_mean",
    "height_std",
    "clearance",
    "frequency",
    "diagonal_phase",
    "pair_phase",
    "duty",
    "pitch",
    "drift",
    "yaw_drift",
)
"""Measures of the shape of a walk, which leave out robots that fell."""


def trotting(robots: int = 3) -> Recording:
    """Return robots that trot at exactly 1 m/s."""
    return walking("trot", STEPS, robots)


@pytest.mark.parametrize(
    ("velocity", "expected"), [(1.0, 1.0), (1.3, 1 / e), (0.7, 1 / e), (0.4, e**-4)]
)
def test_the_return_is_one_at_the_commanded_velocity_and_falls_off(
    velocity: float, expected: float
) -> None:
    """exp(-((vx - commanded) / 0.3)^2): errors of both signs count equally."""
    recording = trotting()
    recording.linear_velocity_b[..., 0] = velocity
    np.testing.assert_allclose(measure(recording, 1.0).reward, expected)


def test_the_return_follows_the_command() -> None:
    """With a command of 0.5 m/s, a velocity of 0.5 m/s has return 1."""
    recording = trotting()
    recording.linear_velocity_b[..., 0] = 0.5
    np.testing.assert_allclose(measure(recording, 0.5).reward, 1.0)


def test_the_return_counts_the_whole_episode_and_the_velocity_does_not() -> None:
    """The robot is 0.3 m/s off in its first second and exact afterwards."""
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
    """Feet trot at 3 Hz and are lifted by almost 6 cm."""
    walk = measure(trotting(), 1.0)
    np.testing.assert_allclose(walk.frequency, 3.0)
    np.testing.assert_allclose(walk.pair_phase, 0.5, atol=0.01)
    np.testing.assert_allclose(walk.diagonal_phase, 0.0, atol=0.01)
    assert (walk.clearance > 0.05).all()
    assert (walk.clearance < 0.06).all()


def test_duty_is_the_mean_over_feet() -> None:
    """One foot is always on the ground, one never, two as in a trot with duty 0.6."""
    recording = trotting(1)
    recording.foot_contact[:, 0, 0], recording.foot_contact[:, 0, 1] = True, False
    of_trot = float(trotting(1).foot_contact[SETTLED:, 0, 2].mean())
    np.testing.assert_allclose(measure(recording, 1.0).duty, (1 + 2 * of_trot) / 4, atol=0.01)


def test_pitch_is_that_of_the_settled_robot_in_degrees() -> None:
    """The nose is down by 0.1 rad half of the time; the first second is left out."""
    recording = trotting(2)
    recording.quaternion[:SETTLED, 0] = from_rpy(0.0, -0.5, 0.0)
    recording.quaternion[SETTLED::2, 0] = from_rpy(0.0, 0.1, 2.0)
    np.testing.assert_allclose(measure(recording, 1.0).pitch, [np.degrees(0.05), 0.0], atol=1e-9)


def test_drift_is_sideways_of_the_first_heading() -> None:
    """A robot that first faces +y and ends at (+-0.5, 2) is 0.5 m off its line."""
    recording = trotting(3)
    recording.quaternion[:, :2] = from_rpy(0.0, 0.0, np.pi / 2)
    recording.position_w[...] = 0.0
    recording.position_w[-1] = [[0.5, 2.0, 0.0], [-0.5, 2.0, 0.1], [3.0, 0.25, 0.0]]
    recording.position_w[...] += [1.0, -1.0, 0.0]  # measured from the start
    np.testing.assert_allclose(measure(recording, 1.0).drift, [0.5, 0.5, 0.25], atol=1e-12)


def test_a_turn_counts_beyond_half_a_circle() -> None:
    """Turns are from 170 to 200 degrees, and by 400 degrees in either direction."""
    recording = trotting(2)
    for robot, (first, last) in enumerate([(170, 200), (0, -400)]):
        yaw = np.radians(np.linspace(first, last, STEPS))
        recording.quaternion[:, robot] = from_rpy(0.0 * yaw, 0.0 * yaw, yaw)
    np.testing.assert_allclose(measure(recording, 1.0).yaw_drift, [30.0, 400.0])


def test_falls_have_a_share_with_an_interval() -> None:
    """One of eight robots fell; the interval is Wilson's."""
    walk = made_up_walk(fallen=np.arange(8) == 3)
    assert walk.averages()["fall_share"] == 0.125
    assert walk.intervals(walk)["fall_share"] == wilson(1, 8)
    assert walk.averages()["few_rollouts"]
    assert not made_up_walk(300).averages()["few_rollouts"]


def test_power_by_hand() -> None:
    """2 Nm x -3 rad/s and 0.5 Nm x 4 rad/s are 8 W regardless of signs, in two of three steps."""
    recording = trotting(1)
    recording.torque[::3, 0, [0, 7]] = recording.torque[1::3, 0, [0, 7]] = [2.0, 0.5]
    recording.joint_velocity[:, 0, [0, 7]] = [-3.0, 4.0]
    np.testing.assert_allclose(measure(recording, 1.0).power, 8 * 2 / 3)


def test_energy_is_power_by_distance() -> None:
    """20 W at 0.5 m/s are 40 J/m; for a standing robot the value is finite."""
    assert made_up_walk(spread=0.0, power=20.0, vx=0.5).averages()["energy"] == pytest.approx(40.0)
    assert made_up_walk(spread=0.0, power=20.0, vx=0.0).averages()["energy"] == pytest.approx(
        20 / SLOWEST
    )


# --- Fallen robots -------------------------------------------------------------------------------


def test_robots_that_fell_have_no_part_in_the_shape_of_the_walk() -> None:
    """They count for return, velocity and power only. A fall at any step counts."""
    recording = trotting()
    recording.fallen[7, 2] = True
    recording.position_w[:, 2, 2] = 0.05
    recording.foot_position_w[:, 2] = 0.0
    recording.linear_velocity_b[:, 2, 0] = 0.7
    walk = measure(recording, 1.0)
    assert walk.fallen.tolist() == [False, False, True]
    means, others = walk.averages(), measure(trotting(), 1.0).averages()
    assert means["falls"] == 1
    for name in GAIT:
        assert means[name] == pytest.approx(others[name]), name
    assert means["return"] == pytest.approx((2 + 1 / e) / 3)
    assert means["vx"] == pytest.approx(2.7 / 3)


def test_if_all_fell_all_count() -> None:
    """Averages need at least one robot."""
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
    assert intervals.keys() == {"return", "return_pct", "vx", "energy", "fall_share", *GAIT}
    low, high = intervals["height_mean"]
    assert 0.24 < low <= means["height_mean"] <= high
    assert intervals["vx"][0] < 0.8


def test_phases_are_medians() -> None:
    """One stumbling robot does not change them."""
    walk = made_up_walk(robots=5, spread=0.0)
    walk.pair_phase[0], walk.frequency[1] = 0.0, 8.0
    assert walk.averages()["pair_phase"] == 0.5
    assert walk.averages()["frequency"] == 3.0


# --- Successor features --------------------------------------------------------------------------


def shortened(recording: Recording, steps: int) -> Recording:
    """Return the first steps of a recording."""
    recorded = {name: values for name, values in vars(recording).items() if values is not None}
    return replace(recording, **{name: values[:steps] for name, values in recorded.items()})


@pytest.mark.parametrize("steps", [1, 2, 40, STEPS])
def test_what_never_changes_is_its_own_successor_feature(steps: int) -> None:
    """This holds for any length; the order is velocities, gravity, joints."""
    recording = shortened(trotting(2), steps)
    found = successor_features(recording)
    assert found.shape == (2, 33)
    joints = recording.joint_position[0, 0]
    np.testing.assert_allclose(
        found, np.tile([1, 0, 0, 0, 0, 0, 0, 0, -1, *joints, *np.zeros(12)], (2, 1)), atol=1e-12
    )


def test_successor_features_by_hand() -> None:
    """A feature of 1, then 3, gives (1 + 0.99 x 3) / 1.99."""
    recording = shortened(trotting(2), 2)
    recording.angular_velocity_b[:, 1, 2] = [1.0, 3.0]
    recording.joint_velocity[:, 1, 11] = [3.0, 1.0]
    found = successor_features(recording)
    np.testing.assert_allclose(found[:, 5], [0.0, 3.97 / 1.99])
    np.testing.assert_allclose(found[:, 32], [0.0, 3.99 / 1.99])


# --- Intervals of a walk ------------------------------------------------------------------------


def test_returns_are_compared_with_the_experts_robot_by_robot() -> None:
    """Half of the expert's return in every domain has an interval of zero width."""
    expert = made_up_walk(spread=0.2, reward=0.8)
    half = replace(made_up_walk(), reward=expert.reward / 2)
    assert half.intervals(expert)["return_pct"] == pytest.approx((50.0, 50.0))
    low, high = half.intervals(made_up_walk(spread=0.2, seed=1, reward=0.8))["return_pct"]
    assert high - low > 5


def test_energy_has_an_interval_of_the_ratio_of_averages() -> None:
    """If power is proportional to velocity, the interval has zero width; else it does not.

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
    """One stumbling robot of thirty moves neither end."""
    walk = made_up_walk(robots=30, spread=0.0)
    walk.pair_phase[0] = 0.0
    assert walk.intervals(walk)["pair_phase"] == (0.5, 0.5)
