"""The navigation task: ground, target, rewards, curriculum and measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import UnknownNameError
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.rotations import from_rpy
from solo_doi.tasks import navigation_rewards as rewards
from solo_doi.tasks.declarations import Episodes
from solo_doi.tasks.features import DIRECTION
from solo_doi.tasks.navigation import TARGET, NavigationConfig, NavigationTask
from solo_doi.tasks.navigation_measures import ROUTES, reached, route

from .states import moment, standing_state

Make = Callable[..., NavigationTask]
AHEAD = np.array([TARGET])
SLICES = NavigationTask.layout.slices


@pytest.fixture
def make() -> Iterator[Make]:
    """Make tasks in MuJoCo, by default without randomisation."""
    with ExitStack() as stack:

        def make_one(num_robots: int = 3, **config: object) -> NavigationTask:
            simulator = stack.enter_context(
                make_simulator(
                    "mujoco",
                    SimConfig(num_robots=num_robots),
                    NavigationTask.make_terrain(num_robots),
                )
            )
            options = NavigationConfig(**{"randomisation": "none", **config})  # type: ignore[arg-type]
            return NavigationTask(simulator, options, np.random.default_rng(0))

        yield make_one


def test_the_scan_shows_the_box_when_it_is_near(make: Make) -> None:
    """At x = 0.6 m the points 0.4 and 0.5 m ahead lie on a box that begins at 1 m."""
    task = make(1, box_height=(0.2, 0.2), wall_share=0.0, early_end=False)
    motion = replace(
        task.simulator.state(),
        base_position_w=np.array([[0.6, 0.0, 0.25]]),
        base_quaternion=from_rpy(0.0, 0.0, np.zeros(1)),
    )
    scan = task._observe(motion)[0, SLICES["height_scan"]].reshape(11, 11)
    np.testing.assert_allclose(scan[:9], 0.0, atol=1e-6)
    np.testing.assert_allclose(scan[10], -0.2, atol=1e-6)


def test_target_and_time_are_observed(make: Make) -> None:
    """A robot that faces +y sees a target 3 m to its right; half of the time is left."""
    task = make(1, target_distance=(3.0, 3.0), episode_steps=10, early_end=False)
    motion = replace(
        task.simulator.state(),
        base_position_w=np.array([[0.0, 0.0, 0.2]]),
        base_quaternion=from_rpy(0.0, 0.0, np.array([np.pi / 2])),
    )
    task.age[:] = 5
    seen = task._observe(motion)[0]
    np.testing.assert_allclose(seen[SLICES["target"]], [0, -3, 0.05, -np.pi / 2], atol=1e-6)
    assert seen[SLICES["time_left"]] == 0.5


def test_walls_follow_the_robots_that_pass_them(make: Make) -> None:
    """One robot is beyond its wall when its episode ends, one before it, one had none."""
    task = make(3, wall_share=1.0, wall_height=(0.1, 0.3), early_end=False)
    task.walled[:] = [True, True, False]
    task.base_position_w[:, 0] = [2.1, 1.9, 2.1]
    task.finish(np.arange(3))
    np.testing.assert_allclose(task.level, [0.125, 0.075, 0.1])
    terrain = task.draw_terrain(np.array([0, 1]), np.random.default_rng(0))
    np.testing.assert_allclose(terrain.size[:, 1, 2], [0.125, 0.075])
    assert (terrain.centre[:, 0, 0] > 10).all()  # no box beside a wall
    assert task.free().tolist() == [False, False, True]


def test_boxes_are_not_far_beyond_the_robots_walls(make: Make) -> None:
    """Robots at walls of 0.05 m get boxes up to 0.15 m; those at 0.3 m get all; fixed ones stay."""
    task = make(400, wall_share=0.0, box_height=(0.05, 0.25), early_end=False)
    task.level[200:] = 0.3
    height = task.draw_terrain(np.arange(400), np.random.default_rng(1)).size[:, 0, 2]
    assert 0.14 < height[:200].max() <= 0.15
    assert 0.24 < height[200:].max() <= 0.25
    fixed = make(2, wall_share=0.0, box_height=(0.6, 0.6), early_end=False)
    assert fixed.simulator.terrain.size[:, 0, 2].tolist() == [0.6, 0.6]


def test_new_episodes_bring_new_ground(make: Make) -> None:
    """Boxes of successive episodes differ, and are where the height scan looks."""
    task = make(8, episode_steps=2, wall_share=0.5, wall_step=0.0, early_end=False)
    before = task.simulator.terrain.size.copy()
    for _ in range(4):
        task.step(np.zeros((8, 12)))
    assert (task.simulator.terrain.size != before).any()
    middle = np.tile([1.5, 0.0], (8, 1, 1))
    highest = task.simulator.terrain.height(middle)[:, 0]
    assert (highest > 0.04).all()


def test_a_low_base_is_a_fall_unless_it_is_high_above_the_ground() -> None:
    """On a box of 0.2 m, 0.29 m is low; on flat ground it is not."""
    state = standing_state(2, base_position_w=np.array([[0, 0, 0.29], [0, 0, 0.29]]))
    scan = np.zeros((2, 121))
    scan[0] = 0.2
    fallen = NavigationTask.fallen(moment(state, np.tile(AHEAD, (2, 1)), scan_height=scan))
    assert fallen.tolist() == [True, False]


def test_arrival_counts_in_the_last_sixth_only() -> None:
    """At the target with the right heading it is one; 1 m away a quarter; earlier zero."""
    offset = np.array([[0.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0, 0, 0, 0]])
    found = rewards.arrival(offset, np.array([0.1, 0.1, 0.5]))
    np.testing.assert_allclose(found, [1.0, 0.25, 0.0])


def test_a_detour_earns_as_much_progress_as_the_straight_way() -> None:
    """The sum depends on both ends alone."""
    straight = np.linspace(3.0, 1.0, 300)
    detour = np.concatenate([np.linspace(3.0, 3.3, 100), np.linspace(3.3, 1.0, 200)[1:]])
    sums = [rewards.progress(d[1:], d[:-1]).sum() for d in (straight, detour)]
    assert sums[0] == pytest.approx(sums[1])


def test_the_direction_is_in_the_world() -> None:
    """A robot that faces +y and walks forward goes to the left; a resting one nowhere."""
    state = standing_state(
        2,
        base_quaternion=np.tile(from_rpy(0.0, 0.0, np.pi / 2), (2, 1)),
        linear_velocity_b=np.array([[0.5, 0, 0], [0, 0, 0]]),
    )
    np.testing.assert_allclose(DIRECTION.compute(state), [[0, 1, 0], [0, 0, 0]], atol=1e-6)


def test_routes_are_read_at_the_middle_of_the_box() -> None:
    """Left, right and over pass the box; a robot in front of it is stuck."""
    path = np.zeros((3, 4, 3))
    path[:, :, 0] = [[0.0], [1.6], [3.0]]
    path[1, :, 1] = [0.7, -0.7, 0.2, 0.0]
    path[:, 3, 0] = 0.9
    config = NavigationTask.fixed_config("none", 500, {"box_height": 0.2})
    episodes = Episodes(
        position_w=path,
        quaternion=np.tile([1.0, 0, 0, 0], (3, 4, 1)),
        score=np.zeros((3, 4)),
        fallen=np.zeros((3, 4), dtype=bool),
        command=np.tile(AHEAD, (4, 1)),
        terrain=NavigationTask.fixed_terrain(config, 4),
    )
    assert [ROUTES[index] for index in route(episodes)] == ["left", "right", "over", "stuck"]
    assert reached(episodes).tolist() == [True, True, True, False]


def test_recorded_episodes_have_one_box_and_the_whole_horizon() -> None:
    """A scene names settings of the task; others are refused."""
    config = NavigationTask.fixed_config("paper", 500, {"box_height": 0.6})
    assert config.box_height == (0.6, 0.6)
    assert (config.wall_share, config.target_distance) == (0.0, (3.0, 3.0))
    assert (config.episode_steps, config.early_end) == (500, False)
    with pytest.raises(UnknownNameError, match="Did you mean 'box_height'"):
        NavigationTask.fixed_config("paper", 500, {"box_hight": 0.6})
